"""Make docs/pictures/views/: ten views of the sample before and after a change of the page.

    .venv/bin/python -m benchmarks.page_pictures URL_BEFORE URL_AFTER

Both are addresses of lineage servers, one of each version. Every picture has two rows, before and
after, with the view at 1440 and 390 pixels, light and dark.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, sync_playwright

from lakehouse.settings import REPOSITORY

VIEWS = REPOSITORY / "docs" / "pictures" / "views"
_LAKE = "dataset:hive://lake:9083:nyc_taxi."
_RAW, _FORECAST = quote(f"{_LAKE}yellow_taxi_raw"), quote(f"{_LAKE}yellow_rides_hourly_forecast")
_COLUMN = quote("tpep_pickup_datetime")
ADDRESSES = {
    "start": "",
    "graph": f"lineage?node={_FORECAST}",
    "details": f"lineage?node={_RAW}&open={_RAW}",
    "columns": f"lineage?node={_RAW}&columns={_RAW}&column={_RAW}{quote('|')}{_COLUMN}",
    "difference": f"lineage?node={_FORECAST}&from=2026-11-13T00:00:00Z",
    "provenance": f"provenance?node={_FORECAST}",
    "impact": f"impact?node={_RAW}&column={_COLUMN}",
    "search": "search?text=taxi",
    "datasets": "datasets",
    "completeness": "completeness",
}
_SCALE = 0.5
_GAP = 12
_HEIGHT = 900
_WIDTHS = (1440, 390)
_THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def views_at(browser: Browser, url: str, address: str) -> Iterator[Image.Image]:
    """Yield a view at each width, light and dark."""
    for width in _WIDTHS:
        for theme in _THEMES:
            size = {"width": width, "height": _HEIGHT}
            context = browser.new_context(viewport=size, color_scheme=theme)  # type: ignore[arg-type]
            page = context.new_page()
            page.goto(f"{url}/sample/{address}")
            page.wait_for_load_state("networkidle")
            page.wait_for_function("document.getAnimations().length === 0")
            picture = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
            context.close()
            yield picture.resize((round(width * _SCALE), round(_HEIGHT * _SCALE)))


def sheet_of(rows: list[tuple[str, list[Image.Image]]]) -> Image.Image:
    """Return the pictures in rows, each with a title."""
    width = sum(picture.width + _GAP for picture in rows[0][1]) + _GAP
    line = round(_HEIGHT * _SCALE) + 2 * _GAP + 12
    sheet = Image.new("RGB", (width, line * len(rows) + _GAP), "#888888")
    draw = ImageDraw.Draw(sheet)
    for place, (title, pictures) in enumerate(rows):
        left, top = _GAP, place * line + _GAP
        draw.text((left, top), title, fill="white")
        for picture in pictures:
            sheet.paste(picture, (left, top + 14))
            left += picture.width + _GAP
    return sheet


def main() -> None:
    """Write one picture per view."""
    if len(sys.argv) != 3:
        sys.exit("Pass two addresses of lineage servers: the one before, then the one after.")
    VIEWS.mkdir(parents=True, exist_ok=True)
    titles = ("before", "after")
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, address in ADDRESSES.items():
            rows = [
                (f"{name}, {title}", list(views_at(browser, url, address)))
                for title, url in zip(titles, sys.argv[1:], strict=True)
            ]
            sheet_of(rows).save(VIEWS / f"{name}.webp", quality=80)
        browser.close()


if __name__ == "__main__":
    main()
