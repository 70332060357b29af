"""Every view in a window of a phone's width: it fits, and axe finds nothing in both themes."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.looking import Look, axe_finds

pytestmark = [pytest.mark.browser, pytest.mark.server]

_TABLE = quote("dataset:snowflake://org-acct:shop.prod.mart_17")
_JOB = quote("job:shop:dbt.stg_17")
_VIEWS = {
    "start": "/",
    "map": "/map?by=owner",
    "problems": "/problems",
    "datasets": "/datasets",
    "freshness": "/datasets?fresh=scheduled",
    "unused": "/datasets?fresh=unused",
    "names": "/datasets?fresh=names",
    "jobs": "/jobs",
    "runs": "/runs",
    "owners": "/owners",
    "tags": "/tags",
    "tag": "/tags?tag=pii",
    "search": "/search?text=email",
    "graph": f"/lineage?node={_TABLE}",
    "details": f"/lineage?node={_JOB}&open={_JOB}",
    "versions": f"/lineage?node={_TABLE}&open={_TABLE}&tab=versions",
    "impact": f"/impact?node={_TABLE}&field=email",
    "provenance": f"/provenance?node={_TABLE}",
    "completeness": "/completeness",
}


@pytest.mark.parametrize("view", _VIEWS)
def test_view_fits_a_phone_and_has_no_axe_violation(view: str, look_at_project: Look) -> None:
    page = look_at_project(_VIEWS[view], width=390, height=844)
    expect(page.locator("#content")).not_to_be_empty()
    page.wait_for_load_state("networkidle")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert axe_finds(page) == []
