"""Saved pictures: what the screen shows, but of the whole graph and without other files."""

from __future__ import annotations

import html
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.looking import Look

pytestmark = [pytest.mark.browser, pytest.mark.server]

_ROOT = "dataset:snowflake://org-acct:shop.prod.raw_0"
_TEXT = re.compile(r'<text x="([\d.]+)" y="([\d.]+)" textLength="([\d.]+)".*?>(.*?)</text>')
# The parts of nodes, without those whose text is cut.
_SHOWN = """() => [...document.querySelectorAll(".react-flow__node [data-node]")].map(node =>
    [...node.querySelectorAll("time, [class*=state], [class*=chip], .clip, wbr")]
        .map(it => it.tagName === "WBR" ? it.previousSibling : it)
        .filter(it => !(it.scrollWidth > it.clientWidth + 1))
        .map(it => it.textContent).filter(Boolean))"""


# Playwright reports no downloads of Debian's Firefox.
_KEEP = """() => {
    window.saved = new Promise(resolve => {
        URL.createObjectURL = blob => {
            resolve(blob.text());
            return "data:,";
        };
    });
}"""


def save_drawing(page: Page) -> str:
    """Save the graph as SVG and return it."""
    expect(page.locator("[role=region][aria-busy=false] .react-flow__edge").first).to_be_attached()
    page.evaluate(_KEEP)
    page.get_by_role("button", name="Share").click()
    page.get_by_role("menuitem", name=re.compile("Drawing")).click()
    drawing: str = page.evaluate("window.saved")
    return drawing


def test_drawing_has_every_text_of_the_screen_at_its_place(look_at_project: Look) -> None:
    page = look_at_project(f"/lineage?node={quote(_ROOT.replace('raw_0', 'mart_17'))}")
    drawing = save_drawing(page)
    texts = [html.unescape(text) for *_, text in _TEXT.findall(drawing)]
    shown = page.evaluate(_SHOWN)
    assert sum(map(len, shown)) > 20
    assert [text for node in shown for text in node if text not in "\n".join(texts)] == []
    assert "Not rebuilt: stg_17 failed" in texts
    width = float(re.findall(r'^<svg [^>]*? width="([\d.]+)"', drawing)[0])
    ends = [float(x) + float(length) for x, _, length, _ in _TEXT.findall(drawing)]
    assert max(ends) <= width
    assert page.locator("[data-node]").count() == len(shown)  # what was drawn beside is gone


def test_drawing_needs_no_browser_and_no_other_file(look_at_project: Look) -> None:
    drawing = save_drawing(look_at_project(f"/lineage?node={quote(_ROOT)}"))
    assert "foreignObject" not in drawing
    sources = re.findall(r'url\("?(.{22})', drawing)
    assert len(sources) == 2
    assert set(sources) == {"data:font/woff2;base64"}
    colors = set(re.findall(r'(?:fill|stroke)="(.*?)"', drawing))
    assert {color for color in colors if not re.match(r"rgb\(|none$", color)} == set()


def test_drawing_has_the_whole_graph_and_not_only_the_window(look_at_project: Look) -> None:
    page = look_at_project(f"/lineage?node={quote(_ROOT)}&down=100")
    page.get_by_role("button", name=re.compile("Everything")).click()
    expect(page.get_by_text(re.compile("^289 nodes"))).to_be_visible()
    drawing = save_drawing(page)
    assert page.locator("[data-node]").count() < 50
    titles = re.findall(r'font-weight="600".*?>(.*?)</text>', drawing)
    assert len(titles) > 289  # with the heading
    assert "289 nodes" in drawing
