"""Reasons for a late table, from the start page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.looking import Look, axe_finds

pytestmark = [pytest.mark.browser, pytest.mark.server]

_WEATHER = "dataset:hive://lake:9083:nyc_taxi.weather_raw"


def test_late_job_shows_due_time_and_no_cause_upstream(look: Look) -> None:
    page = look("/")
    problems = page.get_by_role("region", name="Problems")
    problems.get_by_role("link", name="archive_landing_files").first.click()
    why = page.get_by_role("region", name="Lateness")
    expect(why).to_contain_text("Causes of the delay")
    expect(why).to_contain_text(re.compile("Due .* ago; expected every 1 d"))
    expect(why).to_contain_text("No problem upstream is known.")


def test_late_table_links_to_the_failed_upstream_run(look: Look) -> None:
    page = look("/")
    page.get_by_role("combobox").fill("weather_raw")
    page.get_by_role("option").first.click()
    face = page.locator(f'[data-node="{_WEATHER}"]')
    face.click()
    face.click()
    why = page.get_by_role("region", name="Lateness")
    expect(why).to_contain_text(re.compile("stage first failed .* ago"))
    expect(why).to_contain_text("HTTPError: 503")
    assert axe_finds(page) == []
    why.get_by_role("link").first.click()
    details = page.get_by_role("complementary", name="Details")
    expect(details.get_by_text("Airflow run", exact=True).first).to_be_visible()
    expect(details).to_contain_text("HTTPError: 503")


def test_punctual_table_has_no_lateness_note(look: Look) -> None:
    page = look(f"/lineage?node={_WEATHER}&open=job:nyc_taxi:ingest_yellow_taxi_data.stage")
    details = page.get_by_role("complementary", name="Details")
    expect(details.get_by_text("On the command line")).to_be_visible()
    expect(page.get_by_role("region", name="Lateness")).to_be_hidden()
