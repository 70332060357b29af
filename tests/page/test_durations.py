"""The durations of a job's runs in its details."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

import pytest
from playwright.sync_api import expect

from tests.looking import Look, axe_finds, details

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]

_SECONDS = [60, 62, 61, 300, 59, 60]
_JOB = "job:durations:nightly"


def _run(number: int, seconds: int) -> list[dict[str, Any]]:
    """Return the events of a run of the job that took some seconds."""
    start = datetime(2026, 1, 1 + number, tzinfo=UTC)
    ends = {"START": start, "COMPLETE": start + timedelta(seconds=seconds)}
    return [
        {
            "eventType": kind,
            "eventTime": time.isoformat(),
            "producer": "https://example.org/test",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": str(uuid5(NAMESPACE_URL, f"durations {number}"))},
            "job": {"namespace": "durations", "name": "nightly"},
            "inputs": [],
            "outputs": [{"namespace": "durations", "name": "report"}],
        }
        for kind, time in ends.items()
    ]


def test_run_durations_have_a_median_and_outliers(look: Look, lineage: Lineage) -> None:
    lineage.take(*(event for item in enumerate(_SECONDS) for event in _run(*item)))
    page = look(f"/lineage?{urlencode({'node': _JOB, 'open': _JOB, 'tab': 'runs'})}")
    chart = details(page).get_by_role("figure", name="Run durations")
    expect(chart).to_contain_text("Median 1 min 1 s · 1 outlier in 6 ended runs")
    bars = chart.locator("a")
    expect(bars).to_have_count(len(_SECONDS))
    heights = [
        round(bar.evaluate("bar => parseFloat(bar.style.height)"))
        for bar in bars.locator("i").all()
    ]
    assert heights == [round(seconds / 3) for seconds in _SECONDS]
    expect(details(page).get_by_role("listitem").filter(has_text="outlier")).to_contain_text(
        "5 min"
    )
    assert axe_finds(page) == []
    bars.nth(3).click()
    expect(details(page)).to_contain_text("5 min")
