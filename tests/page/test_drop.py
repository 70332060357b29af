"""The path, the lines and the verdict of a column."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

import pytest
from playwright.sync_api import Page, expect

from tests.looking import Look, axe_finds, details, in_each_theme

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]

_LENGTH = 40
_SCHEMA = {"fields": [{"name": name, "type": "int"} for name in ("a", "b", "c")]}


def _copied(source: str, target: str, job: str, **columns: dict[str, str]) -> dict[str, Any]:
    """Return a run that wrote `target` from `source`; `columns` are transformations by source."""
    of = {"namespace": "drop", "name": source}
    inputs = [{**of, "field": name, "transformations": [how]} for name, how in columns.items()]
    facets: dict[str, Any] = {"schema": _SCHEMA}
    if columns:
        facets["columnLineage"] = {"_producer": _SPARK, "fields": {"a": {"inputFields": inputs}}}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-02T00:00:00Z",
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid5(NAMESPACE_URL, job))},
        "job": {"namespace": "drop", "name": job},
        "inputs": [{**of, "facets": {"schema": _SCHEMA}}],
        "outputs": [{"namespace": "drop", "name": target, "facets": facets}],
    }


_SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
"""A producer that reports every use of columns."""
_IDENTITY = {"type": "DIRECT", "subtype": "IDENTITY"}
_FILTER = {"type": "INDIRECT", "subtype": "FILTER"}


def _address(view: str, name: str, **others: str) -> str:
    return f"/{view}?{urlencode({'node': f'dataset:drop:{name}', **others})}"


def _lock(page: Page, table: str, column: str) -> None:
    node = page.locator(
        ".react-flow__node", has=page.locator(f'[data-node="dataset:drop:{table}"]')
    )
    node.get_by_role("button", name=re.compile(f"^{column}")).click()


def test_path_of_a_column_is_shown_beyond_the_default_depth(look: Look, lineage: Lineage) -> None:
    lineage.take(
        *(
            _copied(f"chain_{step}", f"chain_{step + 1}", f"copy_{step}", a=_IDENTITY)
            for step in range(_LENGTH)
        )
    )
    page = look(_address("lineage", "chain_20", columns="dataset:drop:chain_20"))
    expect(page.get_by_test_id("notes")).to_contain_text("5 nodes")
    _lock(page, "chain_20", "a")
    expect(page.get_by_test_id("notes")).to_contain_text(f"{2 * _LENGTH + 1} nodes")


def test_indirect_dependencies_are_dashed(look: Look, lineage: Lineage) -> None:
    lineage.take(_copied("lines", "lines_copy", "copy_lines", a=_IDENTITY, b=_FILTER))
    page = look(_address("lineage", "lines", columns="dataset:drop:lines"))
    for column, dashes in (("a", "none"), ("b", "5px, 4px")):
        _lock(page, "lines", column)
        line = page.locator(".react-flow__edge.column.lit path.react-flow__edge-path")
        expect(line).to_have_count(1)
        expect(line).to_have_css("stroke-dasharray", dashes)


_CONTRASTS = """lines => lines.map(line => {
    const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
        .getContext("2d");
    const light = (color) => {
        context.fillStyle = color;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((value) => {
            const share = value / 255;
            return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const below = light(getComputedStyle(line.closest("ul")).backgroundColor);
    const own = light(getComputedStyle(line).stroke);
    return (Math.max(own, below) + 0.05) / (Math.min(own, below) + 0.05);
})"""


def test_lines_of_the_legend_are_visible(look: Look) -> None:
    page = look("/lineage?node=yellow_taxi_raw")
    page.get_by_role("button", name="Legend").click()
    lines = page.locator("ul[aria-label=Legend] svg path")
    expect(lines).to_have_count(10)
    for theme in in_each_theme(page):
        assert min(lines.evaluate_all(_CONTRASTS)) >= 3, theme


@pytest.mark.parametrize(
    ("table", "column", "verdict", "reason"),
    [
        ("fee", "a", "Not safe to drop", "1 column takes values from it: fee_copy.a."),
        ("fee", "c", "Safe to drop", "All columns that the reading jobs use are known"),
        (
            "fee_copy",
            "a",
            "Unknown",
            "1 downstream node reported no column lineage: export_fee.",
        ),
    ],
)
def test_verdict_on_dropping_a_column_is_shown_with_reasons(
    table: str, column: str, verdict: str, reason: str, look: Look, lineage: Lineage
) -> None:
    lineage.take(
        _copied("fee", "fee_copy", "copy_fee", a=_IDENTITY),
        _copied("fee_copy", "fee_export", "export_fee"),
    )
    page = look(_address("lineage", table, open=f"column:dataset:drop:{table}|{column}"))
    for part in (details(page), page):
        shown = part.get_by_role("region", name="Can this column be dropped?")
        expect(shown.get_by_role("heading")).to_have_text(verdict)
        expect(shown).to_contain_text(reason)
        if part is not page:
            details(page).get_by_role("link", name="Downstream columns").click()
    assert axe_finds(page) == []
