"""Plain pages: what is there, and a dataset's tree. They ask nothing of any other host."""

from __future__ import annotations

from html import escape
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from throughline.api.http import LiveState
from throughline.graph import Level, Node, node_id
from throughline.graph.answers import graph_of, runs_answer, tree_answer
from throughline.identity import DatasetName
from throughline.projection import State

router = APIRouter()

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>throughline</title>
<style>:root{color-scheme:light dark}body{font:15px/1.5 system-ui;margin:2rem auto;
max-width:64rem;padding:0 1rem}td,th{text-align:left;padding:.2rem 1.2rem .2rem 0}
td+td{white-space:nowrap;font-variant-numeric:tabular-nums}table{border-collapse:collapse;
width:100%}caption{text-align:left;font-weight:600;padding-top:1rem}tr{border-bottom:1px solid
#8884}nav a{margin-right:1rem}ul{padding-left:1.2rem}</style></head><body>
<h1><a href="/">throughline</a></h1>
"""
_INDEX = """<p>{jobs} jobs, {runs} runs, {datasets} datasets.</p>
<nav><a href="/api/v2/edges?level=task">edges of tasks</a>
<a href="/api/v2/edges?level=pipeline">edges of pipelines</a>
<a href="/api/v1/namespaces">namespaces</a> <a href="/api/v1/jobs">jobs</a>
<a href="/api/v1/events/lineage">events</a> <a href="/api/v2/refused">refused lines</a></nav>
<table><caption>Where the newest results come from</caption>
{ends}</table>
<table><caption>Newest runs</caption>
<tr><th scope="col">Job</th><th scope="col">State</th><th scope="col">Started (UTC)</th></tr>
{rows}</table></body></html>
"""


@router.get("/", response_class=HTMLResponse)
def index(live: LiveState) -> HTMLResponse:
    """What is there."""
    with live.reading() as state:
        rows = "".join(_row(run) for run in runs_answer(state, None, 25)["items"])
        html = _INDEX.format(
            jobs=len(state.jobs),
            runs=len(state.runs),
            datasets=sum(1 for _ in state.identity),
            ends="".join(_link(name) for name in _ends(state)[:10]),
            rows=rows,
        )
    return HTMLResponse(_HEAD + html)


@router.get("/tree", response_class=HTMLResponse)
def show_tree(
    live: LiveState, node: Annotated[str, Query(description="An id or a short name.")]
) -> HTMLResponse:
    """What a node comes from."""
    with live.reading() as state:
        leaf = tree_answer(state, node, "up", 20)["up"]
    return HTMLResponse(f"{_HEAD}<ul>{_branch(leaf)}</ul></body></html>\n")


def _ends(state: State) -> list[DatasetName]:
    """The written datasets from which nothing else is made, the newest first."""
    graph = graph_of(state, Level.TASK)
    used = {name for edges in graph.jobs.values() for name in edges.reads if edges.writes - {name}}
    return sorted(graph.writers.keys() - used, key=lambda name: _last(state, name), reverse=True)


def _last(state: State, name: DatasetName) -> tuple[int, DatasetName]:
    records = [state.datasets.get(alias) for alias in state.identity.names(name)]
    return max(record.last for record in records if record), name


def _link(name: DatasetName) -> str:
    address = f"/tree?node={quote(node_id(Node.of_dataset(name)), safe='')}"
    return f'<tr><td><a href="{address}">{escape(name.name)}</a></td></tr>\n'


def _branch(leaf: dict[str, Any]) -> str:
    """A node and what is below it; the depth of the tree bounds the recursion."""
    notes = [leaf["namespace"], *([leaf["run"]["state"]] if leaf.get("run") else ())]
    notes += ["see above"] if leaf["isRepeated"] else ["…"] if leaf["hasMore"] else []
    below = "".join(map(_branch, leaf["children"]))
    return f"<li>{escape(leaf['name'])} ({escape(', '.join(notes))})<ul>{below}</ul></li>\n"


def _row(run: dict[str, Any]) -> str:
    started = (run["startedAt"] or "")[:19].replace("T", " ")
    cells = (run["job"]["name"], run["state"], started)
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>\n"
