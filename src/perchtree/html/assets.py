"""The explorer's own files: a page, a style sheet, and modules that both kinds of page use.

A live page loads the modules one by one. A page that is a single file has all of them in one
script, each after those that it imports, without the lines that import and export.
"""

import re
from importlib import resources

FOLDER = "explorer"
STYLE = "explorer.css"
PAGE = "explorer.html"
ICON = "icon.svg"

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
_DECLARED = re.compile(
    r"^(?:export )?(?:(?:async )?function\*? (\w+)|class (\w+)|(?:const|let) (.+))", re.MULTILINE
)
_BOUND = re.compile(r"(?:^|, )([\w$]+) =")


def read_asset(name: str) -> str:
    """The text of a file of the explorer."""
    return resources.files(__package__).joinpath(FOLDER, name).read_text("utf-8")


def module_names() -> list[str]:
    """All modules."""
    folder = resources.files(__package__).joinpath(FOLDER)
    return sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".js"))


def joined_modules(first: str) -> str:
    """A module and all that it imports as one script.

    Modules then share one scope: a name that two of them declare is an error.
    """
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in parts:
            parts[name] = ""  # a circle ends here; functions are there before they are called
            text = read_asset(name)
            for imported in _IMPORT.findall(text):
                add(imported)
            del parts[name]  # after what it imports
            parts[name] = _EXPORT.sub("", _IMPORT.sub("", text))

    add(first)
    declared = [name for text in parts.values() for name in _declared(text)]
    twice = {name for name in declared if declared.count(name) > 1}
    left = [name for name, text in parts.items() if re.search(r"^(im|ex)port\b", text, re.M)]
    if twice or left:
        raise ValueError(f"modules cannot be joined: {sorted(twice)} declared twice, {left}")
    return "\n".join(parts.values())


def _declared(text: str) -> list[str]:
    """The names that a module declares outside of any braces."""
    names = []
    for function, kind, bound in _DECLARED.findall(text):
        names += [function or kind] if function or kind else _BOUND.findall(bound)
    return names
