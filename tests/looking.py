"""Helpers that open pages in a real browser and check them."""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Playwright,
    Response,
    expect,
    sync_playwright,
)
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import TimeoutError as PageTimeoutError

from commands.page import WEB
from lakehouse.settings import REPOSITORY
from tests.chromium import MissingChromiumError, find_chromium

_LOG = logging.getLogger(__name__)

Look = Callable[..., Page]

SLOWED_BY = os.environ.get("PAGE_SLOW")
"""The factor by which to slow the page, to find races; CONTRIBUTING.md describes it."""
PATIENCE_MS = 60_000 if SLOWED_BY else 20_000
"""As long as a busy machine may need."""
_OPTIONS: Any = {"reduced_motion": "reduce"}
"""The options of contexts unless a test needs others."""
_FREE = "about:blank"
"""The address of a shared tab that no test uses."""
_ADAPTER = Path(__file__).parent / "page" / "firefox.cjs"


@contextmanager
def start_playwright() -> Iterator[Playwright]:
    """Start Playwright such that it can drive Debian's Firefox."""
    adapter = f"{os.environ.get('NODE_OPTIONS', '')} --require={_ADAPTER}"
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NODE_OPTIONS", adapter)
            playwright = stack.enter_context(sync_playwright())
        yield playwright


@contextmanager
def chromium(playwright: Playwright | None = None) -> Iterator[Browser]:
    """Start Chromium; skip the test if there is none."""
    try:
        chromium = find_chromium()
    except MissingChromiumError as error:
        pytest.skip(f"The page was not tested: {error}")
    expect.set_options(timeout=PATIENCE_MS)
    with ExitStack() as stack:
        # Another host name than localhost, so that the page is no secure context over plain HTTP.
        names = "--host-resolver-rules=MAP *.example 127.0.0.1"
        # Pages are open for a second: optimizing their code takes longer than running it.
        plain_code = "--js-flags=--no-maglev,--no-opt"
        playwright = playwright or stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(
            executable_path=chromium.program,
            args=["--no-sandbox", names, plain_code],
            env={**os.environ, **chromium.environ},
        )
        browser.new_context(**_OPTIONS)  # the shared one, see `looking`
        yield browser
        browser.close()


@contextmanager
def firefox(playwright: Playwright) -> Iterator[Browser]:
    """Start Firefox, without motion and in the light theme; skip the test if there is none."""
    program = shutil.which("firefox-esr")
    if program is None:
        pytest.skip("The page was not tested in Firefox: firefox-esr is not on the PATH")
    expect.set_options(timeout=PATIENCE_MS)
    preferences: dict[str, str | float | bool] = {
        "ui.prefersReducedMotion": 1,
        "layout.css.prefers-color-scheme.content-override": 1,
    }
    browser = playwright.firefox.launch(
        channel="moz-firefox", executable_path=program, firefox_user_prefs=preferences
    )
    yield browser
    browser.close()


@contextmanager
def looking(
    browser: Browser,
    url: str,
    expected: tuple[str, ...] = (),
    is_shared: bool = True,
    **options: Any,
) -> Iterator[Look]:
    """Return a function that opens a path of the page, with options of Playwright's context.

    Without options, the first page is opened in a tab that all tests share, so that Chromium finds
    the page's files in its cache and starts no process. Each further page is opened in its own
    context, like that of another user.

    At the end it fails if a page logged an unexpected error or sent a request to another host.
    For the report of a failed test, it logs what each page showed and which requests failed.
    """
    wrong: list[str] = []
    contexts: list[BrowserContext] = []
    pages: list[tuple[Page, list[str]]] = []
    opened: list[Page] = []
    shared = browser.contexts[0] if is_shared and not options and browser.contexts else None
    stack = ExitStack()

    def note_tab(tab: Page) -> None:
        opened.append(tab)

    def open_(path: str, theme: Any = "light", width: int = 1440, height: int = 900) -> Page:
        if shared and not pages:
            free = (page for page in shared.pages if page.url == _FREE)
            page = next(free, None) or shared.new_page()
            shared.on("page", note_tab)
            stack.callback(shared.remove_listener, "page", note_tab)
            _clear_storage(page, url)
        else:
            contexts.append(browser.new_context(**_OPTIONS | options))
            page = contexts[-1].new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme, forced_colors="null")
        _slow_down(page)
        page.set_default_timeout(PATIENCE_MS)
        pages.append((page, stack.enter_context(_watched(page, url, expected, wrong))))
        open_address(page, url + path)
        return page

    yield open_
    for page, failed in pages:
        _LOG.warning("%s showed %r; failed: %s", page.url, _shown(page), failed)
    stack.close()
    if shared and pages:
        tab = pages[0][0]
        for page in opened if _leave(tab, url) else [tab, *opened]:
            page.close()
        shared.clear_permissions()
    for context in contexts:
        context.close()
    assert wrong == []


@contextmanager
def _watched(
    page: Page, origin: str, expected: tuple[str, ...], wrong: list[str]
) -> Iterator[list[str]]:
    """Yield a list of the page's failed requests, and add each unexpected error to `wrong`."""
    failed: list[str] = []

    def note(text: str, *fine: str, source: ConsoleMessage | None = None) -> None:
        # Some tests expect rejected requests and stopped servers.
        if not text.startswith((*fine, *expected, "Failed to load resource")):
            wrong.append(f"{text!r} at {source.location} of {source.args}" if source else text)

    listeners: dict[Any, Callable[[Any], None]] = {
        "crash": lambda _: failed.append("the page crashed"),
        "requestfailed": lambda request: failed.append(f"{request.url}: {request.failure}"),
        "response": lambda response: None if response.ok else failed.append(_refused(response)),
        "pageerror": lambda error: wrong.append(_described(error)),
        "request": lambda request: note(request.url, origin, "data:"),
        "console": lambda message: (
            note(message.text, source=message) if message.type == "error" else None
        ),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    yield failed
    for event, listener in listeners.items():
        page.remove_listener(event, listener)


def _leave(page: Page, origin: str) -> bool:
    """Remove the routes and session storage of a tab and make it free; return False if it fails."""
    try:
        page.unroute_all(behavior="ignoreErrors")
        if not page.url.startswith(origin):
            return False  # the session storage of the origin cannot be cleared from here
        page.evaluate("sessionStorage.clear()")
        page.goto(_FREE)
    except PlaywrightError:  # it crashed, for example
        return False
    return True


def _clear_storage(page: Page, origin: str) -> None:
    """Delete what other tests left in the storage of an origin, but not the cached files."""
    session = page.context.new_cdp_session(page)
    kinds = "cookies,local_storage,indexeddb,cache_storage,service_workers"
    session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": kinds})
    session.detach()


_CHANGES = ("ERR_NETWORK_CHANGED", "interrupted by another navigation")


def open_address(page: Page, url: str) -> None:
    """Open an address, and retry if the network changes: Docker adds interfaces during tests.

    The page itself retries its files and requests.
    """
    for _ in range(10):
        try:
            page.goto(url)
        except PlaywrightError as error:
            if not any(text in error.message for text in _CHANGES):
                raise
        else:
            return
    raise AssertionError(f"{url} was not opened: the network changed during each of ten attempts")


def _refused(response: Response) -> str:
    return f"{response.url}: HTTP {response.status}"


def _shown(page: Page) -> str:
    """Return the start of a page's text, or the error if it cannot be read."""
    try:
        return page.evaluate("document.body.innerText.slice(0, 300)") or "nothing"
    except PlaywrightError as error:
        return f"no text ({error.message})"


def _described(error: PlaywrightError) -> str:
    """Return the name, message and stack of a page error; any of them may be empty."""
    return f"{error.name}: {error.message}\n{error.stack}"


_DELAYS = """
const send = fetch, start = setTimeout;
window.fetch = async (...options) => {
    const response = await send(...options);
    await new Promise((resolve) => start(resolve, 50 + 750 * Math.random()));
    return response;
};"""


def _slow_down(page: Page) -> None:
    """If PAGE_SLOW is set, slow the CPU and delay each API response by 50 to 800 ms."""
    if SLOWED_BY:
        page.add_init_script(_DELAYS)
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": float(SLOWED_BY)})


TRANSFERRED = """() => performance.getEntries()
    .reduce((sum, { transferSize }) => sum + (transferSize ?? 0), 0) / 1000"""
"""Returns the kB that a page received since its navigation, with headers and without the stream."""


_HAS_THEME = """theme => {
    const { colorScheme } = getComputedStyle(document.documentElement);
    const chosen = ["light", "dark"].includes(colorScheme) ? colorScheme : theme;
    const [red, green, blue, alpha = 1] =
        getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number);
    return alpha === 0 || (red + green + blue > 384 ? "light" : "dark") === chosen;
}"""


def in_each_theme(page: Page) -> Iterator[str]:
    """Show the page in the light and then in the dark theme, without loading it again.

    Firefox shows the light theme only, as Debian's version has no command for the theme.
    """
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    browser = page.context.browser
    if browser is not None and browser.browser_type.name == "firefox":
        themes = ("light",)
    for theme in themes:
        page.emulate_media(color_scheme=theme)
        page.wait_for_function(_HAS_THEME, arg=theme)  # a busy browser changes the colors late
        yield theme


_RULES = {"light": None, "dark": ["color-contrast", "link-in-text-block"]}
"""The axe rules to check by theme: all rules, then only those that depend on colors."""
# Only the violations, because selecting and sending the rest takes longer than the check.
_RUN_AXE = """(rules) => axe.run({ resultTypes: ["violations"], ...rules && { runOnly: rules } })
    .then((result) => result.violations)"""


def axe_finds(page: Page) -> list[tuple[str, str, list[str]]]:
    """Return the axe violations of a page: theme, rule and elements."""
    page.evaluate((WEB / "node_modules" / "axe-core" / "axe.min.js").read_text())
    return [
        (theme, rule["id"], [node["html"][:160] for node in rule["nodes"]][:3])
        for theme in in_each_theme(page)
        for rule in page.evaluate(_RUN_AXE, _RULES[theme])
    ]


def fits_a_phone(page: Page) -> None:
    """Narrow the window to the width of a phone, and check that the page fits."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("document.documentElement.scrollWidth <= 390")


KEPT = {"start", "graph", "columns", "difference", "provenance"}
"""The views whose pictures the docs show."""


def keep(page: Page, name: str) -> None:
    """Save screenshots of a view for the docs if WRITE_DOCS is set.

    Run a file alone for it, because the tests of others add events.
    """
    if name in KEPT and os.environ.get("WRITE_DOCS"):
        for theme in in_each_theme(page):
            page.screenshot(path=REPOSITORY / "docs" / "pictures" / f"{name}-{theme}.png")


MOST_CLICKS = 3
_COUNT = """
window.clicks = 0;
addEventListener("click", (event) => { if (event.isTrusted) window.clicks += 1; }, true);
"""


@contextmanager
def counted(page: Page) -> Iterator[Page]:
    """Open the start page; check at the end that there were three clicks and no reload."""
    expect(page.get_by_text("Newest runs")).to_be_visible()
    page.evaluate(_COUNT)
    yield page
    assert 1 <= page.evaluate("window.clicks") <= MOST_CLICKS


def find(page: Page, text: str, name: str) -> None:
    """Search a text and click the first result with a name (a pattern)."""
    page.get_by_role("combobox").fill(text)
    page.get_by_role("option", name=re.compile(name)).first.click()


def details(page: Page) -> Locator:
    """Return the details panel next to the graph."""
    return page.get_by_role("complementary", name="Details")


_FOCUSED = """() => {
    const it = document.activeElement;
    return (it.ariaLabel || it.innerText || it.title || "").trim();
}"""
_IS_SEEN = """() => {
    const it = document.activeElement;
    const { width, height, top, left } = it.getBoundingClientRect();
    const { outlineStyle, outlineWidth } = getComputedStyle(it);
    return it === document.body || outlineStyle !== "none" && parseFloat(outlineWidth) > 0
        && width > 0 && top + height > 0 && top < innerHeight && left + width > 0
        && left < innerWidth;
}"""
_MOST_STOPS = 150


def tab_to(page: Page, name: str, key: str = "Tab") -> None:
    """Press Tab until an element with a name (a pattern) has the focus; check each stop."""
    met = []
    for _ in range(_MOST_STOPS):
        page.keyboard.press(key)
        focused = page.evaluate(_FOCUSED)
        try:  # the graph may still move its nodes
            page.wait_for_function(_IS_SEEN)
        except PageTimeoutError:
            raise AssertionError(f"the focus is not visible at {focused!r}") from None
        if re.search(name, focused):
            return
        met.append(focused[:40])
    raise AssertionError(f"nothing called {name!r} was met by {key}, only {met}")


def walk_every_view(page: Page) -> None:
    """Open and leave every view with the keyboard only, starting and ending at the start page."""
    expect(page.get_by_text("Newest runs")).to_be_visible()
    press = page.keyboard.press
    heading = page.get_by_role("heading", level=1)
    root = page.locator('[data-node$="nyc_taxi.yellow_taxi_raw"]')

    def search(text: str) -> None:
        press("/")
        page.keyboard.type(text)
        expect(page.get_by_role("option").first).to_contain_text(text, ignore_case=True)

    search("yellow_taxi_raw")
    press("Enter")
    expect(root).to_be_focused()
    press("Enter")
    expect(details(page)).to_be_focused()
    tab_to(page, "^About$")
    press("Tab")
    press("Escape")
    expect(root).to_be_focused()
    tab_to(page, "^Columns of .*yellow_taxi_raw$")
    press("Enter")
    expect(page.get_by_role("textbox", name=re.compile("columns of .*taxi_raw"))).to_be_visible()
    for view, title in (("Impact", "Impact of .*"), ("Provenance", "Provenance of .*")):
        tab_to(page, f"^{view}$", "Shift+Tab" if view == "Impact" else "Tab")
        press("Enter")
        expect(heading).to_have_text(re.compile(title))
        tab_to(page, "^Graph$")
        press("Enter")
        expect(root).to_be_visible()
    tab_to(page, "View the graph at that time$")
    press("ArrowLeft")
    press("Enter")
    expect(page.get_by_text("As of 20")).to_be_visible()
    tab_to(page, "^Compare$", "Shift+Tab")
    press("Enter")
    changes = page.get_by_role("complementary", name="Differences")
    expect(changes).to_be_visible()
    expect(page).not_to_have_url(re.compile("[?&]at="))  # now the second time
    press("Enter")
    expect(changes).to_be_hidden()
    for level in ("Pipeline", "Query"):
        tab_to(page, f"^{level}$", "Shift+Tab" if level == "Pipeline" else "Tab")
        press("Enter")
        expect(page.get_by_role("button", name=level, exact=True)).to_have_attribute(
            "aria-pressed", "true"
        )
    search("PULocationID")
    tab_to(page, "match(es)? for")
    press("Enter")
    expect(heading).to_have_text("Search results for PULocationID")
    tab_to(page, "start page$", "Shift+Tab")
    press("Enter")
    expect(page.get_by_text("Newest runs")).to_be_visible()
