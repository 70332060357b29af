"""Make docs/pictures/demo.gif: the demo's terminal, then the lineage page.

    .venv/bin/python -m benchmarks.demo_picture            # draw the picture
    .venv/bin/python -m benchmarks.demo_picture --record   # run the demo first, and record it

The terminal part replays docs/pictures/demo.cast.xz, the output of `./run demo --exit` with its
times (asciicast 2). The page part shows the page over the recorded events of the pipeline's tests.
"""

from __future__ import annotations

import codecs
import fcntl
import io
import json
import lzma
import os
import pty
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pyte
from PIL import Image
from playwright.sync_api import Page, ViewportSize, expect
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from lakehouse.settings import REPOSITORY

PICTURES = REPOSITORY / "docs" / "pictures"
CAST = PICTURES / "demo.cast.xz"
EVENTS = REPOSITORY / "packages" / "headwater" / "tests" / "support" / "pipeline.jsonl.xz"
COLUMNS, LINES = 112, 34
SIZE: ViewportSize = {"width": 1280, "height": 800}
"""The smallest window that shows the whole graph of the demo with its texts."""
SCREENS, SCREEN_MS, LONG_MS = 14, 350, 2600
"""Number of screens while the demo runs, the time of each, and of each view afterwards."""
TALL = 400
TERMINAL = """<body style="margin:0;background:#1e1e2e;color:#cdd6f4">
<pre style="margin:14px 18px;font:16px/22px 'DejaVu Sans Mono',monospace">{code}</pre>"""
CAPTION = """(text) => {
    document.querySelector("#caption")?.remove();
    const caption = document.createElement("div");
    caption.id = "caption";
    caption.textContent = text;
    caption.style = "position:fixed;z-index:9999;bottom:14px;left:50%;translate:-50%;color:#fff;"
        + "background:#1e1e2eee;padding:8px 18px;border-radius:8px;font:600 16px sans-serif";
    document.body.append(caption);
}"""
LAKE = "dataset:hive://lakehouse:nyc_taxi."
FORECAST, RAW = f"{LAKE}yellow_rides_hourly_forecast", f"{LAKE}yellow_taxi_raw"
MODEL = "dataset:metaflow://local:TrainForecastModelFlow/model"
_GRAPH, _COLUMN = "/lineage?node={}&lit={}&up=100&down=1", "/lineage?node={}&columns={}&column={}"
VIEWS = {
    "Upstream of the forecasts: Metaflow, then Airflow": (_GRAPH, FORECAST, FORECAST),
    "Columns": (f"{_COLUMN}&up=2&down=1", RAW, RAW, f"{RAW}|trip_distance"),
    "Provenance: every version, run and commit": ("/provenance?node={}", MODEL),
    "Impact of a column": ("/impact?node={}&column={}", RAW, "tpep_pickup_datetime"),
}

Frame = tuple[Image.Image, int]


def record() -> int:
    """Run the demo on a terminal without data, record its output; return its exit code."""
    with tempfile.TemporaryDirectory(prefix="demo-") as state:
        environ = {**os.environ, "STATE_DIR": state, "TERM": "xterm-256color"}
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(REPOSITORY)
            os.execvpe("./run", ["./run", "demo", "--exit"], environ)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        start, decoder = time.monotonic(), codecs.getincrementaldecoder("utf-8")("replace")
        with lzma.open(CAST, "wt") as out:
            out.write(json.dumps({"version": 2, "width": COLUMNS, "height": LINES}) + "\n")
            while output := _read(terminal):
                shown = decoder.decode(output).replace(state, ".state")
                out.write(json.dumps([round(time.monotonic() - start, 2), "o", shown]) + "\n")
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _read(terminal: int) -> bytes:
    """Return the next output; nothing at the end, where Linux raises EIO."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def terminal_frames(page: Page) -> Iterator[Frame]:
    """Replay the recording: screens while the demo runs, the forecasts, and their tree."""
    with lzma.open(CAST, "rt") as cast:
        next(cast)
        outputs = [json.loads(line) for line in cast]
    screen = pyte.Screen(COLUMNS, TALL)
    stream = pyte.Stream(screen)
    running = next(n for n, output in enumerate(outputs) if "forecasted_total_rides" in output[2])
    yield _shot(page, "$ ./run demo"), 1200
    first = next(at for at, _, text in outputs if "Ingest" in text)
    seconds = outputs[running - 1][0] - first
    due = [first / 2, *(first + seconds * n / SCREENS for n in range(1, SCREENS + 1))]
    for index, (at, _, text) in enumerate(outputs):
        if index < running and due and at >= due[0]:
            due.pop(0)
            yield _shot(page, _screen(screen, max(0, screen.cursor.y + 1 - LINES))), SCREEN_MS
        stream.feed(text)
    tree = next(n for n, line in enumerate(screen.display) if "datetime_hour" in line) - 2
    yield _shot(page, _screen(screen, tree)), LONG_MS


def _screen(screen: pyte.Screen, top: int) -> str:
    """Return the lines of the terminal from `top` on as HTML."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor")
    for number in range(top, top + LINES):
        line = Text()
        for column in range(COLUMNS):
            cell = screen.buffer[number][column]
            color = {"brown": "yellow", "default": ""}.get(cell.fg, cell.fg)
            line.append(cell.data, f"{'bold' if cell.bold else ''} {color}".strip())
        line.rstrip()
        console.print(line, soft_wrap=True)
    return console.export_html(inline_styles=True, code_format="{code}", theme=MONOKAI)


def _shot(page: Page, code: str) -> Image.Image:
    page.set_content(TERMINAL.format(code=code))
    return _image(page)


def _image(page: Page) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def page_frames(page: Page, url: str) -> Iterator[Frame]:
    """Open the views of the page one after another."""
    page.goto(url)
    expect(page.get_by_text("Newest runs")).to_be_visible()
    page.get_by_role("combobox").press_sequentially("forecast")
    expect(page.get_by_role("option").first).to_be_visible()
    page.evaluate(CAPTION, "Search a table, a column, a job or a run")
    yield _image(page), LONG_MS
    for caption, (path, *values) in VIEWS.items():
        page.goto(url + path.format(*map(quote, values)))
        page.wait_for_load_state("networkidle")
        if path.startswith("/lineage"):
            expect(
                page.locator("[role=region][aria-busy=false] .react-flow__edge").first
            ).to_be_attached()
            page.get_by_role("button", name="Timeline").first.click()
            page.get_by_role("button", name="Fit").first.click()
            page.wait_for_timeout(1_000)
        page.evaluate(CAPTION, caption)
        yield _image(page), LONG_MS


def main() -> None:
    """Draw the picture."""
    from commands.page import ensure_page
    from tests.looking import chromium
    from tests.page.conftest import Lineage

    if "--record" in sys.argv and (code := record()):
        sys.exit(code)
    ensure_page()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        server = Lineage(Path(folder))
        try:
            with lzma.open(EVENTS, "rt") as events:
                server.take(*map(json.loads, events))
            page = browser.new_page(viewport=SIZE, reduced_motion="reduce")
            frames = [*terminal_frames(page), *page_frames(page, server.url)]
        finally:
            server.stop()
    images = [image.quantize(96, dither=Image.Dither.NONE) for image, _ in frames]
    durations = [duration for _, duration in frames]
    target = PICTURES / "demo.gif"
    images[0].save(
        target, save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=True
    )
    print(f"{target}: {len(images)} frames, {target.stat().st_size:,} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
