"""What MkDocs runs: files of the project become pages, and nothing is loaded from elsewhere."""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

SITE = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing/index.md",
    "SECURITY.md": "security.md",
    "benchmarks/RESULTS.md": "benchmarks.md",
}
"""Files outside of docs/, and the pages that show them."""

_LINK = re.compile(r"\]\(([^)#:\s]+\.md)(#[^)\s]*)?\)")
_LIST = re.compile(r"^(\w.*:)\n(- )", re.MULTILINE)
_PAGE = re.compile(r"(?<![\w/\"'.])docs/([\w/-]+)\.md(?![^<>]*</a>)")
_WORKER = re.compile(r"https://unpkg\.com/iframe-worker/shim")
_REMOTE = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?https?://[^>]*""")


def on_page_markdown(markdown: str, page: Any, **_more: Any) -> str:
    """Show a file of the project; its links are relative to the top, and made to fit the page.

    Elsewhere a list may follow a line at once; here it needs an empty line before it.
    """
    own = page.file.src_uri
    names = [name for name, uri in SITE.items() if uri == own]
    if not names:
        return _LIST.sub(r"\1\n\n\2", markdown)

    def moved(found: re.Match[str]) -> str:
        target = SITE.get(found[1], found[1].removeprefix("docs/"))
        return f"]({'../' * own.count('/')}{target}{found[2] or ''})"

    return _LIST.sub(r"\1\n\n\2", _LINK.sub(moved, Path(names[0]).read_text("utf-8")))


def on_page_content(html: str, page: Any, files: Any, **_more: Any) -> str:
    """Docstrings and help texts name pages as files of the project: make links of that."""
    up = "../" * page.url.count("/")

    def linked(found: re.Match[str]) -> str:
        if files.get_file_from_path(f"{found[1]}.md") is None:
            return found[0]
        return f'<a href="{up}{found[1]}.html">{found[0]}</a>'

    return _PAGE.sub(linked, html)


def on_post_page(output: str, page: Any, **_more: Any) -> str:
    """Load the search's helper from the site itself; refuse whatever else is remote."""
    up = "../" * page.url.count("/")
    output = _WORKER.sub(f"{up}assets/iframe-worker.js", output)
    remote = _REMOTE.search(output)
    if remote is not None and 'rel="canonical"' not in remote[0]:
        raise PluginError(f"{page.url} would load {remote[0]} from elsewhere")
    return output
