"""Nodes do not cover the lines of the graph."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.looking import Look

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]

_HIDDEN = """path => {
    const nodes = [...document.querySelectorAll(".react-flow__node:has([data-node])")];
    const boxes = nodes.map((e) => e.getBoundingClientRect());
    const at = path.getScreenCTM(), length = path.getTotalLength();
    // A line begins and ends a pixel within its nodes' borders.
    const isWithin = (at, from, to) => at > from + 2 && at < to - 2;
    const isUnder = (p, b) => isWithin(p.x, b.left, b.right) && isWithin(p.y, b.top, b.bottom);
    return Array.from({ length: 98 }, (_, i) => path.getPointAtLength(((i + 1) / 99) * length))
        .map((p) => p.matrixTransform(at)).filter((p) => boxes.some((b) => isUnder(p, b))).length;
}"""


def _event(number: int, job: str, reads: list[str], writes: list[str]) -> dict[str, Any]:
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": f"0194b1c4-0000-7000-8000-0000000000{number}"},
        "job": {"namespace": "lines", "name": job},
        "inputs": [{"namespace": "lines", "name": name} for name in reads],
        "outputs": [{"namespace": "lines", "name": name} for name in writes],
    }


def _hidden(look: Look, node: str, steps: dict[str, int], lines: int) -> list[int]:
    """Return for each line at how many of 98 points a node covers it."""
    page = look(f"/lineage?{urlencode({'node': node, **steps})}")
    drawn = page.locator(".react-flow__edge path.react-flow__edge-path")
    expect(drawn).to_have_count(lines)
    return [line.evaluate(_HIDDEN) for line in drawn.all()]


def test_backward_lines_go_around_nodes(look: Look, lineage: Lineage) -> None:
    lineage.take(
        _event(31, "merge", ["merged", "new"], ["merged"]),
        _event(32, "compact", ["merged", "old"], ["merged"]),
    )
    assert _hidden(look, "dataset:lines:merged", {"up": 2}, 6) == [0] * 6


def test_long_lines_go_around_nodes(look: Look, lineage: Lineage) -> None:
    lineage.take(
        _event(41, "clean", ["trips"], ["cleaned"]),
        _event(42, "count", ["cleaned"], ["counted"]),
        _event(43, "report", ["trips", "cleaned", "counted"], ["reported"]),
    )
    assert _hidden(look, "dataset:lines:reported", {"up": 5}, 8) == [0] * 8
