"""The problems of the start page: ages, mute and acknowledge, and their place on a phone."""

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
from tests.looking import Look, axe_finds, looking

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]

_NOW = datetime.now(UTC)


def _ended(job: str, hours_ago: float, state: str = "FAIL") -> dict[str, Any]:
    """Return the event of a run of a job that ended hours ago."""
    return {
        "eventType": state,
        "eventTime": (_NOW - timedelta(hours=hours_ago)).isoformat(),
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid.uuid4())},
        "job": {"namespace": "shop", "name": job},
    }


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Lineage]:
    """Yield a server with two failed jobs, one of which failed weeks ago, and a late one."""
    ensure_page()
    server = Lineage(tmp_path)
    daily = [_ended("daily", 24 * day, "COMPLETE") for day in range(2, 9)]
    server.take(_ended("load", 2), _ended("archive", 24 * 22), *daily)
    yield server
    server.stop()


@pytest.fixture
def look_at_broken(browser: Browser, broken: Lineage) -> Iterator[Look]:
    """Return a function that opens an address of the page with the broken jobs."""
    with looking(browser, broken.url) as open_:
        yield open_


def _group(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def _choose(page: Page, job: str, choice: str, note: str = "") -> None:
    page.get_by_role("button", name=f"Mute or acknowledge {job}").click()
    if note:
        page.get_by_role("textbox", name="Note (optional)").fill(note)
    page.get_by_role("menuitem", name=re.compile(choice)).click()


def test_ages_of_problems_are_in_human_units(look_at_broken: Look) -> None:
    page = look_at_broken("/")
    failed = _group(page, "Failed")
    expect(failed.get_by_role("listitem").filter(has_text="load")).to_contain_text("2 h ago")
    expect(failed.get_by_role("listitem").filter(has_text="archive")).to_contain_text("3 weeks ago")
    late = _group(page, "Late")
    expect(late).to_contain_text("dailyit usually runs every 24 h and was due 1 d ago")
    assert axe_finds(page) == []


def test_acknowledged_problem_returns_when_it_changes(
    look_at_broken: Look, broken: Lineage
) -> None:
    page = look_at_broken("/")
    _choose(page, "load", "Acknowledge", "Fixed in the next release")
    expect(_group(page, "Failed")).not_to_contain_text("load")
    page.get_by_text("1 muted or acknowledged.").get_by_role("button", name="Show").click()
    decided = _group(page, "Muted or acknowledged")
    expect(decided).to_contain_text("Fixed in the next release · acknowledged until it changes")
    assert axe_finds(page) == []
    broken.take(_ended("load", 1))
    expect(_group(page, "Failed")).to_contain_text("load")
    expect(decided).to_be_hidden()


def test_muted_problem_is_muted_for_everyone_until_reopened(
    look_at_broken: Look, broken: Lineage
) -> None:
    page = look_at_broken("/")
    header = page.get_by_role("banner").get_by_role("link", name="problems")
    expect(header).to_contain_text("3 problems")
    _choose(page, "load", "Mute for a week")
    expect(header).to_contain_text("2 problems")
    other = look_at_broken("/", width=390)
    other.get_by_text("1 muted or acknowledged.").get_by_role("button", name="Show").click()
    decided = _group(other, "Muted or acknowledged")
    expect(decided).to_contain_text(re.compile(r"muted until 20\d\d-"))
    broken.stop()
    broken.start()
    expect(_group(page, "Failed")).to_contain_text("archive")
    decided.get_by_role("button", name="Reopen load").click()
    expect(_group(other, "Failed")).to_contain_text("load")


def test_page_shows_the_reason_if_a_problem_cannot_be_muted(look_at_broken: Look) -> None:
    page = look_at_broken("/")
    message = "the key 'reader' has the scope read; this needs write"
    page.route(
        "**/api/v2/findings",
        lambda route: route.fulfill(status=403, json={"code": 403, "message": message}),
    )
    _choose(page, "load", "Acknowledge")
    expect(page.get_by_role("alert")).to_contain_text(message)
    expect(_group(page, "Failed")).to_contain_text("load")


def test_problems_come_before_runs_on_a_phone(look_at_broken: Look) -> None:
    page = look_at_broken("/", width=390, height=844)
    expect(page.get_by_role("region", name="Newest runs")).to_be_visible()
    tops = "all => all.map(each => each.getBoundingClientRect().top)"
    problems = _group(page, "Failed").evaluate_all(tops)
    runs = page.get_by_role("region", name="Newest runs").evaluate_all(tops)
    assert problems < runs
    page.get_by_role("button", name="Mute or acknowledge load").click()
    expect(page.get_by_role("menu")).to_be_in_viewport(ratio=1)


def test_sample_offers_no_changes(look_at_broken: Look) -> None:
    page = look_at_broken("/sample/")
    expect(page.get_by_role("region", name="Newest runs")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Mute"))).to_have_count(0)
    answer = httpx.post(page.url + "api/v2/findings", json={"subject": "x", "state": "muted"})
    assert answer.status_code == 405
