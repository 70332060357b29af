"""Tests of other files that also run in Firefox, if Debian's is installed.

Playwright drives it over WebDriver BiDi, without the dark theme, downloads and the wait for an idle
network. The page's policy forbids `wait_for_function` there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Playwright, expect

from tests.looking import Look, firefox
from tests.page.test_dbt_project import (  # noqa: F401
    test_header_of_a_phone_has_room_for_the_search,
    test_impact_of_a_failed_table_shows_what_was_not_rebuilt,
    test_map_states_all_problems_of_a_group,
    test_names_of_columns_are_shown_in_full,
    test_nodes_show_the_cause_and_the_age_uncut,
    test_number_of_more_nodes_covers_no_text,
    test_paths_of_several_columns_are_highlighted_together,
    test_states_of_the_freshness_list_fit_beside_their_causes,
)
from tests.page.test_picture import (  # noqa: F401
    test_drawing_has_every_text_of_the_screen_at_its_place,
    test_drawing_needs_no_browser_and_no_other_file,
)

pytestmark = [pytest.mark.browser, pytest.mark.server]


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """Start one Firefox for all tests of this module."""
    with firefox(playwright) as browser:
        yield browser


def test_graph_with_its_timeline_fits_a_phone(look_at_project: Look) -> None:
    page = look_at_project(
        "/lineage?node=dataset:snowflake://org-acct:shop.prod.mart_17", width=390
    )
    expect(page.get_by_role("button", name="View the graph at that time").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
