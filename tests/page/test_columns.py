"""Columns of wide tables and the lines to them."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.looking import Look

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]

_NAMES = [f"column_{place:02}" for place in range(25)]
_WIDE, _COPY = "dataset:trial:wide_table", "dataset:trial:wide_copy"


def _copied() -> dict[str, Any]:
    """Return the event of a job that copied a table of 25 columns."""
    schema = {"fields": [{"name": name, "type": "int"} for name in _NAMES]}
    of = {"namespace": "trial", "name": "wide_table"}
    lineage = {name: {"inputFields": [{**of, "field": name}]} for name in _NAMES}
    facets = {"schema": schema, "columnLineage": {"fields": lineage}}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "0194b1c4-0000-7000-8000-000000000025"},
        "job": {"namespace": "trial", "name": "copy_wide"},
        "inputs": [{**of, "facets": {"schema": schema}}],
        "outputs": [{"namespace": "trial", "name": "wide_copy", "facets": facets}],
    }


@pytest.fixture
def wide(look: Look, lineage: Lineage) -> Page:
    """Return a server with the two tables and their columns."""
    lineage.take(_copied())
    view = [("node", _COPY), ("up", "2"), ("columns", _WIDE), ("columns", _COPY)]
    page = look(f"/lineage?{urlencode(view)}")
    expect(_lines(page)).to_have_count(10)
    return page


def _lines(page: Page) -> Any:
    return page.locator(".react-flow__edge.column")


def _table(page: Page, id_: str) -> Any:
    return page.locator(".react-flow__node", has=page.locator(f'[data-node="{id_}"]')).locator(
        "div:has(> ul)"
    )


def test_lines_lead_to_visible_columns_and_hidden_ones_are_counted(wide: Page) -> None:
    notes = wide.get_by_test_id("notes")
    expect(notes).to_contain_text("15 edges to columns that are not shown")
    _table(wide, _WIDE).get_by_role("button", name="More").click()
    expect(_lines(wide)).to_have_count(0)
    expect(notes).to_contain_text("25 edges to")
    _table(wide, _COPY).get_by_role("button", name="More").click()
    expect(_lines(wide)).to_have_count(10)
    expect(_table(wide, _COPY)).to_contain_text("11–20 of 25")
    wide.go_back()
    expect(_lines(wide)).to_have_count(0)
    wide.go_forward()
    expect(_lines(wide)).to_have_count(10)
    _table(wide, _WIDE).get_by_role("button", name="Back").click()
    expect(_lines(wide)).to_have_count(0)
    notes.get_by_role("button", name="Show the first columns").click()
    expect(_lines(wide)).to_have_count(10)
    expect(_table(wide, _COPY)).to_contain_text("1–10 of 25")


def test_column_filter_keeps_lines_and_is_in_the_url(wide: Page) -> None:
    for id_ in (_WIDE, _COPY):
        _table(wide, id_).get_by_role("textbox").press_sequentially("n_2")
    expect(_lines(wide)).to_have_count(5)
    expect(wide.get_by_test_id("notes")).to_contain_text("20 edges to")
    wide.reload()
    expect(_lines(wide)).to_have_count(5)
    expect(_table(wide, _COPY).get_by_role("textbox")).to_have_value("n_2")
    _table(wide, _COPY).get_by_role("textbox").fill("none")
    expect(_table(wide, _COPY)).to_contain_text("No matching column")


def test_locked_column_of_a_later_page_stays_visible(wide: Page) -> None:
    _table(wide, _COPY).get_by_role("button", name="More").click()
    _table(wide, _COPY).get_by_role("button", name="column_13").click()
    for id_ in (_WIDE, _COPY):
        lit = _table(wide, id_).get_by_role("button", name=re.compile("^column_13"))
        expect(lit).to_have_attribute("aria-pressed", "true")
    expect(_lines(wide)).to_have_count(1)
