"""Problems on the start page and on their own page: causes, mute and acknowledge, a phone."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from commands.page import ensure_page
from tests.looking import Look, axe_finds, fits_a_phone, looking

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]

_NOW = datetime.now(UTC)


def _ended(name: str, hours_ago: float, state: str = "FAIL", **parts: Any) -> dict[str, Any]:
    """Return the event of a run of a job that ended hours ago."""
    return parts | {
        "eventType": state,
        "eventTime": (_NOW - timedelta(hours=hours_ago)).isoformat(),
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": parts.get("run", {"runId": str(uuid.uuid4())}),
        "job": parts.get("job", {}) | {"namespace": "shop", "name": name},
    }


_LOG = "http://airflow.example/dags/dbt/runs/1/tasks/tickets?try_number=0"
_ERROR = "Database Error in model tickets (models/tickets.sql)\n  no space left\n  on device 7"


def _project(hours_ago: float, failed: str | None = None) -> list[dict[str, Any]]:
    """Return a run of a dbt project whose models read each other; those after a failed one wait."""
    run = str(uuid.uuid4())
    events = []
    for model, source, owner in (
        ("tickets", "raw", "core"), ("users", "tickets", "growth"), ("report", "users", "growth"),
    ):  # fmt: skip
        facets: dict[str, Any] = {
            "parent": {"run": {"runId": run}, "job": {"namespace": "shop", "name": "dbt"}}
        }
        if model == failed:
            facets["errorMessage"] = {"message": _ERROR, "programmingLanguage": "SQL"}
            facets["airflow"] = {"taskInstance": {"log_url": _LOG}}
        jobs = {
            "ownership": {"owners": [{"name": owner}]},
            "jobType": {"processingType": "BATCH", "integration": "DBT", "jobType": "MODEL"},
        }
        tags = {"tags": [{"key": "tier", "value": "1"}]} if model == "report" else {"tags": []}
        events.append(
            _ended(
                f"dbt.{model}", hours_ago, "FAIL" if model == failed else "COMPLETE",
                run={"runId": str(uuid.uuid4()), "facets": facets}, job={"facets": jobs},
                inputs=[{"namespace": "db", "name": f"shop.{source}"}],
                outputs=[{"namespace": "db", "name": f"shop.{model}", "facets": {"tags": tags}}],
            )
        )  # fmt: skip
        if model == failed:
            break
    end = "FAIL" if failed else "COMPLETE"
    return [*events, _ended("dbt", hours_ago, end, run={"runId": run})]


def _broken(folder: Path) -> Iterator[Lineage]:
    """Yield a server with two failed jobs, one of which failed weeks ago, and a late one."""
    ensure_page()
    server = Lineage(folder)
    daily = [_ended("daily", 24 * day, "COMPLETE") for day in range(2, 9)]
    server.take(_ended("load", 2), _ended("archive", 24 * 22), *daily)
    yield server
    server.stop()


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Lineage]:
    """Yield a server for a test that adds events or decisions."""
    yield from _broken(tmp_path)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lineage]:
    """Yield the server of the tests that change nothing in it."""
    yield from _broken(tmp_path_factory.mktemp("broken"))


@pytest.fixture
def look_at_broken(browser: Browser, broken: Lineage) -> Iterator[Look]:
    """Return a function that opens an address of the page with the broken jobs."""
    with looking(browser, broken.url) as open_:
        yield open_


@pytest.fixture
def look_at_unchanged(browser: Browser, unchanged: Lineage) -> Iterator[Look]:
    """Return a function that opens an address of the page, for a test that changes nothing."""
    with looking(browser, unchanged.url) as open_:
        yield open_


def _problems(page: Page) -> Locator:
    """Return the problems on the start page."""
    return page.get_by_role("region", name="Problems")


def _choose(page: Page, job: str, choice: str, note: str = "") -> None:
    page.get_by_role("button", name=f"Mute or acknowledge {job}").click()
    if note:
        page.get_by_role("textbox", name="Note (optional)").fill(note)
    page.get_by_role("menuitem", name=re.compile(choice)).click()


def test_ages_of_problems_are_in_human_units(look_at_unchanged: Look) -> None:
    page = look_at_unchanged("/")
    rows = _problems(page).get_by_role("listitem")
    expect(rows.filter(has_text="load")).to_contain_text("2 h ago")
    expect(rows.filter(has_text="archive")).to_contain_text("3 weeks ago")
    expect(rows.filter(has_text="daily")).to_contain_text("every 24 h and was due 1 d ago")
    assert axe_finds(page) == []


def test_acknowledged_problem_returns_when_it_changes(
    look_at_broken: Look, broken: Lineage
) -> None:
    page = look_at_broken("/")
    _choose(page, "load", "Acknowledge", "Fixed in the next release")
    expect(_problems(page)).not_to_contain_text("load")
    page.get_by_role("link", name="1 muted or acknowledged").click()
    decided = page.get_by_role("list", name="Problems")
    expect(decided).to_contain_text("Fixed in the next release · acknowledged until it changes")
    assert axe_finds(page) == []
    page.go_back()
    broken.take(_ended("load", 1))
    expect(_problems(page)).to_contain_text("load")
    expect(page.get_by_role("link", name="1 muted or acknowledged")).to_be_hidden()


def test_muted_problem_is_muted_for_everyone_until_reopened(
    look_at_broken: Look, broken: Lineage
) -> None:
    page = look_at_broken("/")
    header = page.get_by_role("banner").get_by_role("link", name="problems")
    expect(header).to_contain_text("3 problems")
    _choose(page, "load", "Mute for a week")
    expect(header).to_contain_text("2 problems")
    other = look_at_broken("/", width=390)
    other.get_by_role("link", name="1 muted or acknowledged").click()
    decided = other.get_by_role("list", name="Problems")
    expect(decided).to_contain_text(re.compile(r"muted until 20\d\d-"))
    broken.stop()
    broken.start()
    expect(_problems(page)).to_contain_text("archive")
    decided.get_by_role("button", name="Reopen load").click()
    other.go_back()
    expect(_problems(other)).to_contain_text("load")


def test_page_shows_the_reason_if_a_problem_cannot_be_muted(look_at_unchanged: Look) -> None:
    page = look_at_unchanged("/")
    message = "the key 'reader' has the scope read; this needs write"
    page.route(
        "**/api/v2/findings",
        lambda route: route.fulfill(status=403, json={"code": 403, "message": message}),
    )
    _choose(page, "load", "Acknowledge")
    expect(page.get_by_role("alert")).to_contain_text(message)
    expect(_problems(page)).to_contain_text("load")


def test_problems_come_before_runs_on_a_phone(look_at_unchanged: Look) -> None:
    page = look_at_unchanged("/", width=390, height=844)
    expect(page.get_by_role("region", name="Newest runs")).to_be_visible()
    tops = "all => all.map(each => each.getBoundingClientRect().top)"
    problems = _problems(page).evaluate_all(tops)
    runs = page.get_by_role("region", name="Newest runs").evaluate_all(tops)
    assert problems < runs
    page.get_by_role("button", name="Mute or acknowledge load").click()
    expect(page.get_by_role("menu")).to_be_in_viewport(ratio=1)


def test_problems_page_has_a_row_per_cause_with_its_error_and_what_it_blocks(
    look_at_broken: Look, broken: Lineage
) -> None:
    broken.take(*_project(30), *_project(1, failed="tickets"))
    page = look_at_broken("/")
    expect(_problems(page).get_by_role("heading")).to_have_text("Problems 4")
    first = _problems(page).get_by_role("listitem").first
    expect(first).to_contain_text("3 datasets not rebuilt, 1 tagged tier:1, 2 jobs not run")
    page.get_by_role("banner").get_by_role("link", name="4 problems").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Problems 4")
    rows = page.get_by_role("list", name="Problems").get_by_role("listitem")
    worst = rows.first
    expect(worst.get_by_role("link", name="tickets")).to_be_visible()
    expect(worst).to_contain_text("failed in dbt")
    expect(worst.locator("pre")).to_have_text("no space left\non device 7")
    expect(worst.get_by_role("link", name="Task instance in Airflow")).to_have_attribute(
        "href", _LOG
    )
    expect(worst).to_contain_text("3 datasets not rebuilt, 1 tagged tier:1, 2 jobs not run")
    expect(worst).to_contain_text("owners core, growth")
    assert axe_finds(page) == []
    fits_a_phone(page)
    page.get_by_role("combobox", name="Owner", exact=True).select_option("growth (1)")
    expect(rows).to_have_count(1)
    page.get_by_role("combobox", name="Owner", exact=True).select_option("All")
    page.get_by_role("combobox", name="Tag", exact=True).select_option("tier:1 (1)")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("tickets failed in dbt")
    page.get_by_role("combobox", name="Tag", exact=True).select_option("All")
    page.get_by_role("combobox", name="Age", exact=True).select_option("=older")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("archive")
    page.get_by_role("combobox", name="Age", exact=True).select_option("All")
    page.get_by_role("combobox", name="Platform", exact=True).select_option("dbt (1)")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("tickets failed in dbt")


def test_several_problems_are_acknowledged_and_reopened_at_once(look_at_broken: Look) -> None:
    page = look_at_broken("/problems")
    rows = page.get_by_role("list", name="Problems").get_by_role("listitem")
    expect(rows).to_have_count(3)
    page.get_by_role("checkbox", name="Select load").check()
    page.get_by_role("checkbox", name="Select archive").check()
    page.get_by_role("button", name="Mute or acknowledge 2 problems").click()
    page.get_by_role("textbox", name="Note (optional)").fill("moved")
    page.get_by_role("menuitem", name="Acknowledge").click()
    expect(rows).to_have_count(1)
    expect(page.get_by_role("banner").get_by_role("link", name="1 problem")).to_be_visible()
    page.get_by_role("button", name="Muted or acknowledged 2").click()
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("moved · acknowledged until it changes")
    page.get_by_role("checkbox", name="Select all 2").check()
    page.get_by_role("button", name="Reopen 2 problems").click()
    expect(page.get_by_text("No problem is muted or acknowledged.")).to_be_visible()


def test_sample_offers_no_changes(look_at_unchanged: Look) -> None:
    page = look_at_unchanged("/sample/")
    expect(page.get_by_role("region", name="Newest runs")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Mute"))).to_have_count(0)
    answer = httpx.post(page.url + "api/v2/findings", json={"subject": "x", "state": "muted"})
    assert answer.status_code == 405
