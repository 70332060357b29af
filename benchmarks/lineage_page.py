"""How quickly the lineage page shows itself and draws graphs, in a real Chromium.

    .venv/bin/python -m benchmarks.lineage_page [--nodes N ...] [--rounds R]

The start page is opened warm, beside a page of one word. Then, for each number of nodes (100 and
1000), a new store gets as many in layers of 50, with two edges a node, and all of it is opened:
how long the layout took in its worker, until the nodes stand, and until a click has lit the path of
one. The longest task of the main thread is told of both: nothing can be clicked while one runs (0:
none took 50 ms). Times are milliseconds, the median of ROUNDS (5).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import shutil
import statistics
import sys
import tempfile
import uuid
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from urllib.parse import quote

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.lineage_store import (
    SERVE,
    WIDTH,
    dataset,
    event,
    post,
    say,
    serving,
    settled,
    throughline,
)
from commands.page import ensure_page, travelling

ONE_WORD = """
import uvicorn
async def app(scope, receive, send):
    headers = [(b"content-type", b"text/html")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"<!doctype html><p>word"})
"""
WATCH = """
window.tasks = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.tasks.push([each.startTime, each.duration]);
}).observe({ type: "longtask", buffered: true });
"""
PAINTED = """() => new Promise((done) => new PerformanceObserver((list) => {
  const first = list.getEntriesByName("first-contentful-paint")[0];
  if (first) done(first.startTime);
}).observe({ type: "paint", buffered: true }))"""
DRAWN = """() => document.querySelector('.canvas[aria-busy=false] .react-flow__edge')
    && performance.now()"""
CLICK = """() => new Promise((done) => {
  const face = document.querySelector('.node:not(.root) > [data-node]');
  const begun = performance.now();
  const seen = () => face.getAttribute("aria-pressed") === "true"
    ? requestAnimationFrame(() => done([begun, performance.now() - begun]))
    : requestAnimationFrame(seen);
  face.click();
  requestAnimationFrame(seen);
})"""
LAID = "() => performance.getEntriesByName('layout').at(-1).duration"
LONGEST = (
    "(since) => Math.max(0, ...window.tasks.filter(([at]) => at >= since).map(([, ms]) => ms))"
)

Found = dict[str, float]


def opened(browser: Browser, url: str, look: Callable[[Page], Found]) -> Found:
    """What a look at a page found, of a browser that was there before."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.add_init_script(WATCH)
    page.goto(url)
    page.wait_for_load_state("networkidle" if "lineage?" not in url else "load")
    page.goto("about:blank")
    page.goto(url, wait_until="commit")
    found = look(page)
    context.close()
    return found


def painted(page: Page) -> Found:
    """When there was something to see."""
    return {"painted": page.evaluate(PAINTED)}


def drawn(page: Page) -> Found:
    """When the graph stood, when a click had lit a path, and the longest tasks of both."""
    stood = page.wait_for_function(DRAWN).json_value()
    page.wait_for_function(
        "() => window.tasks.every(([at, ms]) => performance.now() - at - ms > 500)"
    )
    until: float = page.evaluate(LONGEST, 0)
    begun, lit = page.evaluate(CLICK)
    page.wait_for_function(
        "() => window.tasks.every(([at, ms]) => performance.now() - at - ms > 500)"
    )
    return {
        "laid out": page.evaluate(LAID),
        "drawn": stood,
        "longest task": until,
        "a click": lit,
        "its longest task": page.evaluate(LONGEST, begun),
    }


def fill(port: int, nodes: int) -> str:
    """Jobs in layers, each with its table, as many as there shall be nodes; the address of all.

    One more job makes the tables of the first layer of one source: everything is behind that.
    """
    jobs = max(2, (nodes - WIDTH) // 2)
    begin = json.loads(event("COMPLETE", 0, str(uuid.uuid4())))
    begin["job"]["name"], begin["inputs"] = "begin", [dataset("source", None)]
    begin["outputs"] = [dataset(f"L0_{place}", ["source"]) for place in range(WIDTH)]
    runs = (event("COMPLETE", job, str(uuid.uuid4()), job) for job in range(jobs))
    post(port, chain([json.dumps(begin).encode()], runs), multiprocessing.Queue())
    return f"/lineage?node={quote('dataset:bench:source')}&up=100&down=100"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, nargs="*", default=[100, 1_000])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    say(f"{platform.machine()}, {psutil.cpu_count()} CPUs, load {psutil.getloadavg()[0]:.1f}")
    ensure_page()
    page, elk = (count / 1_000 for count in travelling())
    say(f"the page travels as {page:.0f} kB gzip, elk {elk:.0f}")
    found = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        say(f"Chromium {browser.version}")

        def look(what: str, url: str, found: Callable[[Page], Found]) -> None:
            rounds = [opened(browser, url, found) for _ in range(given.rounds)]
            middle = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
            say(f"{what:30} {'  '.join(f'{name} {ms:.0f}' for name, ms in middle.items())}")

        with serving(sys.executable, "-c", ONE_WORD + SERVE) as server:
            look("a page of one word", f"http://127.0.0.1:{server.port}/", painted)
        for nodes in given.nodes:
            with serving(*throughline(Path(work, f"{nodes}.db"))) as server:
                url = f"http://127.0.0.1:{server.port}"
                path = fill(server.port, nodes)
                settled(server)
                look(f"start page, {nodes} nodes known", url, painted)
                look(f"graph of {nodes} nodes", url + path, drawn)
        browser.close()


if __name__ == "__main__":
    main()
