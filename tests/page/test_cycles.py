"""A job that reads what it writes: the line that leads back is seen whole."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.looking import Look

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]

_HIDDEN = """path => {
    const boxes = [...document.querySelectorAll(".node")].map((e) => e.getBoundingClientRect());
    const at = path.getScreenCTM(), length = path.getTotalLength();
    const isUnder = (p, b) => p.x > b.left && p.x < b.right && p.y > b.top && p.y < b.bottom;
    return Array.from({ length: 98 }, (_, i) => path.getPointAtLength(((i + 1) / 99) * length))
        .map((p) => p.matrixTransform(at)).filter((p) => boxes.some((b) => isUnder(p, b))).length;
}"""


def _merged(job: str, run: str) -> dict[str, Any]:
    table = {"namespace": "cycle", "name": "merged"}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": f"0194b1c4-0000-7000-8000-0000000000{run}"},
        "job": {"namespace": "cycle", "name": job},
        "inputs": [table, {"namespace": "cycle", "name": f"new_of_{job}"}],
        "outputs": [table],
    }


def test_lines_that_lead_back_go_around_the_nodes(look: Look, lineage: Lineage) -> None:
    lineage.take(_merged("merge", "31"), _merged("compact", "32"))
    page = look(f"/lineage?{urlencode({'node': 'dataset:cycle:merged', 'up': 2})}")
    lines = page.locator(".react-flow__edge-back path.react-flow__edge-path")
    expect(lines).to_have_count(2)
    assert [line.evaluate(_HIDDEN) for line in lines.all()] == [0, 0]
