"""Pages in a real browser, watched while they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page

from commands.page import WEB

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
