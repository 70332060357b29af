"""GET /: the newest runs and where to ask on. The page asks nothing of any other host."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from throughline.api.http import LiveState
from throughline.graph.answers import runs_answer

router = APIRouter()

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>throughline</title>
<style>:root{{color-scheme:light dark}}body{{font:15px/1.5 system-ui;margin:2rem auto;
max-width:64rem;padding:0 1rem}}td,th{{text-align:left;padding:.2rem 1.2rem .2rem 0}}
td+td{{white-space:nowrap;font-variant-numeric:tabular-nums}}table{{border-collapse:collapse;
width:100%}}caption{{text-align:left;font-weight:600;padding-top:1rem}}tr{{border-bottom:1px solid
#8884}}nav a{{margin-right:1rem}}</style></head><body>
<h1>throughline</h1>
<p>{jobs} jobs, {runs} runs, {datasets} datasets.</p>
<nav><a href="/api/v2/edges?level=task">edges of tasks</a>
<a href="/api/v2/edges?level=pipeline">edges of pipelines</a>
<a href="/api/v1/namespaces">namespaces</a> <a href="/api/v1/jobs">jobs</a>
<a href="/api/v1/events/lineage">events</a> <a href="/api/v2/refused">refused lines</a></nav>
<table><caption>Newest runs</caption>
<tr><th scope="col">Job</th><th scope="col">State</th><th scope="col">Started (UTC)</th></tr>
{rows}</table></body></html>
"""


@router.get("/")
def index(live: LiveState) -> HTMLResponse:
    """What is there."""
    with live.reading() as state:
        rows = "".join(_row(run) for run in runs_answer(state, None, 25))
        html = _PAGE.format(
            jobs=len(state.jobs),
            runs=len(state.runs),
            datasets=sum(1 for _ in state.identity),
            rows=rows,
        )
    return HTMLResponse(html)


def _row(run: dict[str, Any]) -> str:
    started = (run["startedAt"] or "")[:19].replace("T", " ")
    cells = (run["job"]["name"], run["state"], started)
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>\n"
