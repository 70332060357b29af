"""Pages in a real browser, watched while they are looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from commands.page import WEB
from lakehouse.settings import REPOSITORY

Look = Callable[..., Page]


@contextmanager
def looking(browser: Browser, url: str) -> Iterator[Look]:
    """A function that opens a path of the page at an address.

    At the end it fails if a page logged an error or asked another host.
    """
    wrong: list[str] = []
    contexts = []

    def open_(path: str, theme: Any = "light", width: int = 1440, height: int = 900) -> Page:
        size: Any = {"width": width, "height": height}
        context = browser.new_context(viewport=size, color_scheme=theme, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda each: note(each.url, url, "data:"))
        page.on("console", lambda each: note(each.text) if each.type == "error" else None)
        page.goto(url + path)
        return page

    def note(text: str, *expected: str) -> None:
        # A refusal, and a server that is stopped, are what some tests are about.
        if not text.startswith((*expected, "Failed to load resource")):
            wrong.append(text)

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []


def axe_finds(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds wrong on a page: its rule, and the elements."""
    page.evaluate((WEB / "node_modules" / "axe-core" / "axe.min.js").read_text())
    found = page.evaluate("axe.run()")["violations"]
    return [(each["id"], [node["html"][:160] for node in each["nodes"]][:3]) for each in found]


KEPT = {"start", "graph", "columns", "difference", "beside", "dataset", "impact", "provenance"}


def keep(page: Page, name: str, theme: str) -> None:
    """Keep a picture of a view for the docs, where WRITE_DOCS is set."""
    if name in KEPT and os.environ.get("WRITE_DOCS"):
        page.screenshot(path=REPOSITORY / "docs" / "page" / f"{name}-{theme}.png")


MOST_CLICKS = 3
_COUNT = """
window.clicks = 0;
addEventListener("click", (event) => { if (event.isTrusted) window.clicks += 1; }, true);
"""


@contextmanager
def counted(page: Page) -> Iterator[Page]:
    """The start page, while a question is answered: at most three clicks, and it is never left."""
    expect(page.get_by_text("Newest runs")).to_be_visible()
    page.evaluate(_COUNT)
    yield page
    assert 1 <= page.evaluate("window.clicks") <= MOST_CLICKS


def find(page: Page, text: str, name: str) -> None:
    """Search a text and click on the first that was found with a name (a pattern)."""
    page.get_by_role("combobox").fill(text)
    page.get_by_role("option", name=re.compile(name)).first.click()


def details(page: Page) -> Locator:
    """What is told beside the graph."""
    return page.get_by_role("complementary", name="Details")
