"""Pages without any script: what is here, and every request that the service knows.

They are made from /openapi.json by the service itself, so nothing is loaded from elsewhere.
"""

import json
from html import escape
from typing import Any

from .. import __version__

STYLE = """\
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --link: #0a58a8; }
@media (prefers-color-scheme: dark) { :root { --link: #7db8f0; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; text-transform: capitalize; }
a { color: var(--link); }
code, pre { font: 0.9em/1.45 ui-monospace, monospace; }
pre { background: var(--soft); padding: 0.7rem 1rem; overflow-x: auto; border-radius: 4px; }
details { border: 1px solid var(--line); border-radius: 4px; margin: 0.5rem 0; }
summary { padding: 0.5rem 0.8rem; cursor: pointer; }
summary code { font-weight: 600; } summary .method { display: inline-block; width: 4.5rem; }
details > div { padding: 0 1rem 0.6rem; border-top: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.8rem 0.25rem 0;
  border-bottom: 1px solid var(--line); }
.quiet { opacity: 0.75; }
"""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/assets/service.css"></head>
<body><main>{body}</main></body></html>
"""

_FIRST = f"""<h1>perchtree</h1>
<p>This is a service that clusters records online: they can be added, removed, searched and asked
about over HTTP, and clusters follow.</p>
<ul>
<li><a href="/">The explorer</a>: the tree and its clusters, to look at.</li>
<li><a href="/docs">Every request</a> that it understands, and the same
<a href="/openapi.json">for programs</a> (OpenAPI).</li>
<li><a href="/v1/info">What is here now</a>: how many records, of which kind.</li>
<li><a href="/v1/clusters">The clusters</a>, and <a href="/v1/tree/root">the top of the
tree</a>.</li>
<li><a href="/health">Whether it is alive</a>, <a href="/ready">whether records can be changed</a>,
and <a href="/metrics">its numbers</a> for Prometheus.</li>
</ul>
<p>From Python:</p>
<pre>import perchtree

people = perchtree.Client("http://127.0.0.1:8732")
people.add([[0.0, 1.0]], keys=["ann"])
people.nearest([[0.1, 1.0]])</pre>
<p class="quiet">Where a token is needed, links that show data answer with an error: browsers do not
send one. Version {__version__}.</p>
"""


def first_page() -> str:
    """The page at `/about`."""
    return _PAGE.format(title="perchtree", body=_FIRST)


def docs_page(api: dict[str, Any]) -> str:
    """The page at `/docs`, made from what /openapi.json says."""
    parts: dict[str, list[str]] = {}
    for path, methods in api["paths"].items():
        for method, what in methods.items():
            group = (what.get("tags") or ["other"])[0]
            parts.setdefault(group, []).append(_operation(path, method, what, api))
    body = f"<h1>{escape(api['info']['title'])}</h1><p>{escape(api['info']['description'])}</p>"
    for group, operations in parts.items():
        body += f"<h2>{escape(group)}</h2>" + "".join(operations)
    return _PAGE.format(title=escape(api["info"]["title"]), body=body)


def _operation(path: str, method: str, what: dict[str, Any], api: dict[str, Any]) -> str:
    texts = what.get("description", "").split("\n\n")
    inside = "".join(f"<p>{escape(part)}</p>" for part in texts[1:])
    if what.get("parameters"):
        rows = "".join(_parameter(parameter) for parameter in what["parameters"])
        inside += f"<h3>Parameters</h3><table>{rows}</table>"
    body = what.get("requestBody")
    if body:
        inside += f"<h3>Body</h3><p>{escape(body.get('description', ''))}</p>"
        for kind, content in body["content"].items():
            inside += f"<p><code>{escape(kind)}</code></p>"
            if kind.endswith("json"):
                inside += _example(content["schema"], api)
    inside += "<h3>Answers</h3><table>"
    for status, answer in what["responses"].items():
        inside += (
            f"<tr><td><code>{escape(status)}</code><td>{escape(answer.get('description', ''))}"
        )
    inside += "</table>"
    schema = what["responses"].get("200", {}).get("content", {}).get("application/json", {})
    if schema.get("schema"):
        inside += _example(schema["schema"], api)
    head = (
        f"<code><span class=method>{method.upper()}</span> {escape(path)}</code> "
        f"<span class=quiet>{escape(texts[0])}</span>"
    )
    return f"<details><summary>{head}</summary><div>{inside}</div></details>"


def _parameter(parameter: dict[str, Any]) -> str:
    schema = parameter.get("schema", {})
    kinds = [part.get("type", "") for part in schema.get("anyOf", [schema])]
    default = f", {schema['default']} if left out" if schema.get("default") is not None else ""
    needed = "needed" if parameter.get("required") else "optional"
    about = parameter.get("description") or schema.get("description", "")
    kind = " or ".join(kind for kind in kinds if kind != "null")
    return (
        f"<tr><td><code>{escape(parameter['name'])}</code><td>{escape(kind)}, {needed}"
        f"{escape(default)}<td>{escape(about)}"
    )


def _example(schema: dict[str, Any], api: dict[str, Any]) -> str:
    shape = json.dumps(_shape(schema, api, 0), indent=2, ensure_ascii=False)
    return f"<pre>{escape(shape)}</pre>"


def _shape(schema: dict[str, Any], api: dict[str, Any], depth: int) -> Any:
    """What a value looks like: names, and the kinds of values."""
    if "$ref" in schema:
        schema = api["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    if "anyOf" in schema:
        shapes = [_shape(part, api, depth) for part in schema["anyOf"]]
        plain = [shape for shape in shapes if not isinstance(shape, str)]
        return plain[0] if plain else " or ".join(dict.fromkeys(shapes))
    if depth > 6:
        return "..."
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        return {name: _shape(part, api, depth + 1) for name, part in properties.items()}
    if schema.get("type") == "array":
        return [_shape(schema.get("items", {}), api, depth + 1)]
    return schema.get("type", "anything")
