"""Measure in Chromium how fast the lineage page loads and draws graphs.

    .venv/bin/python -m benchmarks.lineage_page [--nodes N ...] [--rounds R]

The start page is opened with a warm cache and compared with a page of one word. Then, for each
number of nodes (100 and 1000), a new store is filled with layers of 50 nodes, with two edges per
node, and the whole graph is opened. Print the time of the layout in its worker, until the nodes are
drawn, and until a click has highlighted a path. Also print the longest task of the main thread,
during which the page does not react to clicks (0: none took 50 ms). Times are milliseconds, the
median of ROUNDS (5). Before that, each page is opened with an empty cache; print the compressed kB
of code, styles and answers that the browser received.
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
    headwater,
    post,
    say,
    serving,
    settled,
)
from commands.page import ensure_page
from tests.looking import TRANSFERRED

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
  for (const entry of list.getEntries())
    window.tasks.push([entry.startTime, entry.duration]);
}).observe({ type: "longtask", buffered: true });
"""
PAINTED = """() => new Promise((done) => new PerformanceObserver((list) => {
  const first = list.getEntriesByName("first-contentful-paint")[0];
  if (first) done(first.startTime);
}).observe({ type: "paint", buffered: true }))"""
DRAWN = """() => document.querySelector('[role=region][aria-busy=false] .react-flow__edge')
    && performance.now()"""
CLICK = """() => new Promise((done) => {
  const face = document.querySelector('[data-node]:not([aria-current])');
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

Timings = dict[str, float]


def opened(browser: Browser, url: str, measure: Callable[[Page], Timings]) -> Timings:
    """Open a page and return the kB received without a cache, and its timings with a warm one."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.add_init_script(WATCH)
    page.goto(url)
    if "lineage?" in url:
        page.wait_for_function(DRAWN)
    page.wait_for_load_state("networkidle")
    received: float = page.evaluate(TRANSFERRED)
    page.goto("about:blank")
    page.goto(url, wait_until="commit")
    timings = {"kB": received, **measure(page)}
    context.close()
    return timings


def painted(page: Page) -> Timings:
    """Return the time of the first contentful paint."""
    return {"painted": page.evaluate(PAINTED)}


def drawn(page: Page) -> Timings:
    """Return the times until the graph is drawn and a click has highlighted a path."""
    drawn_at = page.wait_for_function(DRAWN).json_value()
    page.wait_for_function(
        "() => window.tasks.every(([at, ms]) => performance.now() - at - ms > 500)"
    )
    until: float = page.evaluate(LONGEST, 0)
    begun, click_time = page.evaluate(CLICK)
    page.wait_for_function(
        "() => window.tasks.every(([at, ms]) => performance.now() - at - ms > 500)"
    )
    return {
        "laid out": page.evaluate(LAID),
        "drawn": drawn_at,
        "longest task": until,
        "a click": click_time,
        "its longest task": page.evaluate(LONGEST, begun),
    }


def fill(port: int, nodes: int) -> str:
    """Fill the store with layers of jobs and their tables; return the path of the whole graph.

    An additional job writes the tables of the first layer from one source, which is upstream of
    all nodes.
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
    arguments = parser.parse_args()
    say(f"{platform.machine()}, {psutil.cpu_count()} CPUs, load {psutil.getloadavg()[0]:.1f}")
    ensure_page()
    names = ("chromium", "chromium-headless-shell", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        say(f"Chromium {browser.version}")

        def report(label: str, url: str, measure: Callable[[Page], Timings]) -> None:
            rounds = [opened(browser, url, measure) for _ in range(arguments.rounds)]
            medians = {
                name: statistics.median(timings[name] for timings in rounds) for name in rounds[0]
            }
            say(f"{label:30} {'  '.join(f'{name} {ms:.0f}' for name, ms in medians.items())}")

        with serving(sys.executable, "-c", ONE_WORD + SERVE) as server:
            report("a page of one word", f"http://127.0.0.1:{server.port}/", painted)
        for nodes in arguments.nodes:
            with serving(*headwater(Path(work, f"{nodes}.db"))) as server:
                url = f"http://127.0.0.1:{server.port}"
                path = fill(server.port, nodes)
                settled(server)
                report(f"start page, {nodes} nodes", url, painted)
                report(f"graph of {nodes} nodes", url + path, drawn)
        browser.close()


if __name__ == "__main__":
    main()
