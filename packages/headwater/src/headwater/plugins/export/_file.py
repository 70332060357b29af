"""The lineage page as one HTML file: its code, its styles and the answers that it needs.

`web/src/api/oneFile.ts` reads the format that this module writes: `answers` by key (`_key`: a query
with its parameters), whose list items are indices of `pool`, and `start`, the address to open. The
file has no server, so it contains each answer that the page can request from it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import headwater
from headwater.console.source import Source, every
from headwater.errors import ConfigError, NotFoundError
from headwater.query.models import Json

_BUILT = Path(headwater.__file__).parent / "server" / "built" / "file" / "assets"
_LEVELS = ("pipeline", "task", "query")
_DEEPEST, _MOST_SHOWN, _NEAREST = 100, 60, 2  # as in web/src/graph/view.ts
_MOST_NODES = 1_000
_OF_SIZE = {"limit", "depth", "up", "down", "columns", "indirect", "facets"}
_LISTS = {
    "datasets": ("name", "written"),
    "jobs": ("name", "started"),
    "runs": ("started", "duration"),
}
_LOADER = """
const read = (id) => {
  const text = atob(document.getElementById(id).textContent);
  const packed = new Blob([Uint8Array.from(text, (letter) => letter.charCodeAt(0))]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text();
};
Promise.all(["content", "worker", "code"].map(read)).then(([content, worker, code]) => {
  const url = URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
  globalThis.headwater = { ...JSON.parse(content), worker: url };
  const script = document.createElement("script");
  script.textContent = code;
  document.body.append(script);
});
"""


def write_file(ask: Source, node: str | None) -> str:
    """Return the page of a node with everything upstream and downstream, or of all nodes.

    Raises:
        ConfigError: the page is not built, or there are too many nodes.
        NotFoundError: there is no such node.

    `ask` answers queries. `node` is an id or name; None for all nodes. The page finds each answer
    by its key (`_key`), so the queries must be those that it sends.
    """
    code, worker, style = map(_asset, ("index-*.js", "elk-worker*.js", "style-*.css"))
    root = None if node is None else ask("node", {"node": node})["id"]
    nodes = _all(ask) if root is None else _around(ask, root)
    if len(nodes) > _MOST_NODES:
        raise ConfigError(f"a file has at most {_MOST_NODES} nodes, not {len(nodes)}; pass a NODE")
    pool: dict[str, int] = {}
    answers: dict[str, object] = {"search": _hits(ask, nodes)}
    for name, params in (*_of_nodes(ask, nodes), *(_lists() if root is None else ())):
        with suppress(ConfigError, NotFoundError):  # a node that does not exist at a level
            answers[_key(name, params)] = _pooled(ask(name, params), pool)
    for id_ in nodes:
        answers |= {key: _pooled(graph, pool) for key, graph in _graphs(ask, id_)}
    start = "/" if root is None else "/lineage?" + urlencode({"node": root})
    content = _packed({"answers": answers, "start": start})[:-1] + f',"pool":[{",".join(pool)}]}}'
    parts = {"content": content, "worker": worker, "code": code}
    return _html(root or "all", style, parts)


def _asset(pattern: str) -> str:
    """Return the text of a built file of the page, given a pattern.

    Raises ConfigError if it is missing.
    """
    found = sorted(_BUILT.glob(pattern))
    if not found:
        raise ConfigError(
            "the page is not built: run `./run page` in a clone, and install headwater again"
        )
    return found[0].read_text()


def _html(title: str, style: str, parts: dict[str, str]) -> str:
    """Return the document; `parts` are texts that the loader unpacks, by the id of their script."""
    packed = {
        name: base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
        for name, text in parts.items()
    }
    present = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    scripts = "\n".join(
        f'<script type="text/plain" id="{name}">{text}</script>' for name, text in packed.items()
    )
    policy = _policy(_LOADER, parts["code"])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="present" content="{present}">
<title>{html.escape(title)} · headwater</title>
<style>{style}</style>
</head>
<body>
<div id="root"></div>
{scripts}
<script>{_LOADER}</script>
</body>
</html>
"""


def _policy(*scripts: str) -> str:
    """Return a content security policy: only these scripts run, and nothing is loaded or sent."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in scripts]
    allowed = " ".join(f"'sha256-{digest.decode()}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; worker-src blob:; style-src 'unsafe-inline';"
        " img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def _key(name: str, params: Json) -> str:
    """Return the key of an answer: the query and its parameters, without those of the size.

    The page computes it in the same way, and cuts answers to the size that it needs.
    """
    pairs = sorted(
        [key, str(value).lower() if isinstance(value, bool) else str(value)]
        for key, value in params.items()
        if key not in _OF_SIZE
    )
    return name + _packed(pairs)


def _packed(value: object) -> str:
    """Return a value as JSON without spaces, as JavaScript writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _pooled(answer: Json, pool: dict[str, int]) -> Json:
    """Replace list items of an answer by their index in a pool, because many answers share them.

    `pool` has the index of each item by its JSON; new items are added.
    """
    return {
        key: {"pool": [pool.setdefault(_packed(item), len(pool)) for item in value]}
        if isinstance(value, list) and value and isinstance(value[0], dict)
        else value
        for key, value in answer.items()
    }


def _all(ask: Source) -> list[str]:
    """Return the ids of all nodes."""
    nodes = [item for name in ("datasets", "jobs") for item in every(ask, name, {})]
    return [item["id"] for item in nodes]


def _around(ask: Source, root: str) -> list[str]:
    """Return the ids of a node and of all its upstream and downstream nodes, at every level."""
    found = [root]
    for level in _LEVELS:
        with suppress(ConfigError, NotFoundError):
            params = {"node": root, "level": level, "up": _DEEPEST, "down": _DEEPEST}
            found += (item["id"] for item in ask("graph", params)["nodes"])
    return list(dict.fromkeys(found))


def _of_nodes(ask: Source, nodes: list[str]) -> Iterator[tuple[str, Json]]:
    """Yield the queries about nodes and columns."""
    for id_ in nodes:
        about = {"node": id_}
        yield "node", about
        yield "lateness", about
        yield "history", {**about, "limit": 100}
        yield from (("impact", {**about, "level": level, "depth": _DEEPEST}) for level in _LEVELS)
        if id_.startswith("job:"):
            yield "runs", {"job": id_, "limit": 30}
            yield "runs", {"job": id_, "condition": "COMPLETED", "limit": 1}
            continue
        yield "provenance", about
        for field in (item["name"] for item in ask("node", about)["fields"]):
            column = {**about, "field": field}
            yield "column", column
            yield "impact", {**column, "level": "task", "depth": _DEEPEST}
            for direction in ("up", "down"):
                way = {**column, "direction": direction, "indirect": True, "depth": _DEEPEST}
                yield "columns", way


def _lists() -> Iterator[tuple[str, Json]]:
    """Yield the queries of the start page and the lists."""
    for name in ("health", "problems", "pipelines", "newest", "completeness/pipelines"):
        yield name, {}
    yield from (("runs", {"roots": roots, "limit": 30}) for roots in (True, False))
    for reverse in (False, True):
        for name, orders in _LISTS.items():
            size = {"facets": True} if name == "runs" else {}
            for order in orders:
                yield name, {"sort": order, "reverse": reverse, "limit": 200, **size}
        for by in ("owner", "tag"):
            for order in ("name", "datasets", "jobs"):
                yield "groups", {"by": by, "sort": order, "reverse": reverse, "limit": 200}


def _graphs(ask: Source, id_: str) -> Iterator[tuple[str, Json]]:
    """Yield the graphs around a node, as large as the page shows them at first.

    Each has its key.
    """
    for level in _LEVELS:
        for datasets in ({}, {"datasets": True}):
            about = {"node": id_, "level": level, **datasets}
            with suppress(ConfigError, NotFoundError):
                reach = ask("graph", {**about, "up": 1, "down": 1})["reach"]
                steps = _DEEPEST if reach["up"] + reach["down"] < _MOST_SHOWN else _NEAREST
                size = {"up": steps, "down": steps, "columns": True}
                yield _key("graph", about), ask("graph", {**about, **size})


def _hits(ask: Source, nodes: list[str]) -> list[object]:
    """Return the search results for the names of nodes and of their columns.

    The page searches the `text` of these itself (`search` in `oneFile.ts`), so other kinds of hits
    and similar names, which depend on the text that a user types, are left out.
    """
    found: dict[tuple[str, str, str], object] = {}
    texts: set[str] = set()
    for id_ in nodes:
        texts.add(id_.rpartition(":")[2])
        texts |= {field["name"] for field in ask("node", {"node": id_})["fields"]}
    for text in sorted(texts):
        for hit in ask("search", {"text": text, "limit": 200})["items"]:
            if hit["id"] in nodes and hit["matched"] in ("name", "column") and not hit["isFuzzy"]:
                found[hit["id"], hit["matched"], hit["text"]] = hit
    return list(found.values())
