"""Trends in the details: durations of runs, rows of versions, and results of checks by run."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

import pytest
from playwright.sync_api import expect

from tests.looking import Look, axe_finds, details, fits_a_phone

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


_TABLE = "dataset:trends:orders"
_ROWS = [100, 90, 110, 62]
_UNIQUE = [True, False, True, True]


def _write(number: int) -> dict[str, Any]:
    """Return a run that writes the table, with its number of rows and the result of a check."""
    event = _run(number, 60)[1]
    event["run"] = {"runId": str(uuid5(NAMESPACE_URL, f"trends {number}"))}
    event["job"] = {"namespace": "trends", "name": "load_orders"}
    checks = [{"assertion": "unique", "column": "id", "success": _UNIQUE[number]}]
    if number == 0:
        checks.append({"assertion": "not_null", "column": "id", "success": True})
    facets = {"dataQualityAssertions": {"assertions": checks}}
    statistics = {"outputStatistics": {"rowCount": _ROWS[number]}}
    table = {"namespace": "trends", "name": "orders"}
    event["outputs"] = [{**table, "outputFacets": statistics}]
    event["inputs"] = [{**table, "inputFacets": facets}]
    return event


def test_rows_and_checks_are_compared_with_earlier_runs(look: Look, lineage: Lineage) -> None:
    lineage.take(*map(_write, range(len(_ROWS))))
    address = {"node": _TABLE, "open": _TABLE, "tab": "versions"}
    page = look(f"/lineage?{urlencode(address)}")
    rows = details(page).get_by_role("figure", name="Rows per version")
    expect(rows).to_contain_text("Newest 62 rows, median before 100 · −38 % against the median")
    expect(rows.locator("a")).to_have_count(len(_ROWS))
    assert axe_finds(page) == []
    details(page).get_by_role("tab", name="Quality").click()
    matrix = details(page).get_by_role("table")
    expect(matrix.get_by_role("row")).to_have_text(
        [
            re.compile("Checks2026-01-01.*2026-01-04"),
            "unique idpassedfailedpassedpassed",
            "not_null idpassed" + 3 * "not part of the check",
        ]
    )
    assert axe_finds(page) == []
    fits_a_phone(page)
    expect(matrix).to_be_attached()


def test_all_runs_of_a_job_are_paged_and_filtered(look: Look, lineage: Lineage) -> None:
    runs = [_run(0, 60)[1] for _ in range(60)]
    for number, event in enumerate(runs):
        event["run"] = {"runId": str(uuid5(NAMESPACE_URL, f"many {number}"))}
        event["job"] = {"namespace": "trends", "name": "many"}
        event["eventTime"] = f"2026-01-01T00:{number:02}:00Z"
        event["eventType"] = "FAIL" if number < 3 else "COMPLETE"
    lineage.take(*runs)
    job = "job:trends:many"
    page = look(f"/lineage?{urlencode({'node': job, 'open': job, 'tab': 'runs'})}")
    expect(details(page)).to_contain_text("Only the newest 50 runs are shown.")
    details(page).get_by_role("link", name="All runs").click()
    pages = page.get_by_role("navigation", name="Pages")
    expect(pages).to_contain_text("1–50 of 60")
    expect(page.get_by_role("main")).to_contain_text("Runs of many")
    pages.get_by_role("link", name="Next").click()
    expect(pages).to_contain_text("51–60 of 60")
    page.get_by_role("combobox", name="State", exact=True).select_option("=FAILED")
    expect(pages).to_contain_text("1–3 of 3")
    assert axe_finds(page) == []
    page.get_by_role("link", name="Runs of all jobs").click()
    expect(pages).not_to_contain_text("of 3")
