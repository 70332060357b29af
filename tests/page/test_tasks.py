"""Eighteen tasks on a dbt-like project and on the demo, each with at most four actions.

An action is a click, a selection in a list, or a typed text. The numbers are those of the table in
docs/reference/page.md; WRITE_DOCS=1 writes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from lakehouse.settings import REPOSITORY
from tests.looking import Look, details

pytestmark = [pytest.mark.browser, pytest.mark.server]

_MOST = 4
_PAGE = REPOSITORY / "docs" / "reference" / "page.md"
_HEAD = "| task | actions | dbt-like project | demo |\n| --- | --- | --- | --- |\n"


class Walk:
    """A person at the start page; counts the actions."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions = 0

    def click(self, name: str, role: str = "link", within: Locator | None = None) -> None:
        """Click the first element with a name (a pattern)."""
        place = within or self.page
        place.get_by_role(role, name=re.compile(name)).first.click()  # type: ignore[arg-type]
        self.actions += 1

    def search(self, text: str, result: str, role: str = "option") -> None:
        """Type a text and select the first result with a name (a pattern): two actions."""
        self.page.get_by_role("combobox").first.fill(text)
        self.actions += 1
        self.click(result, role)

    def click_node(self, name: str) -> None:
        """Click the dataset in the graph."""
        self.page.locator(f'[data-node^="dataset:"][data-node$="{name}"]').click()
        self.actions += 1

    def sees(self, text: str) -> None:
        """Expect a text (a pattern) in the content of the page."""
        expect(self.page.locator("#content")).to_contain_text(re.compile(text))


@dataclass(frozen=True)
class Store:
    """Names in a store, and the answers to the tasks about its state."""

    table: str
    source: str
    column: str
    owner: str
    group: str
    answers: dict[str, str]


_PROJECT = Store(
    table="rpt_16",
    source="raw_0",
    column="email",
    owner="growth",
    group="growth",
    answers={
        "problems": "stg_17 failed.*numeric value 'n/a' is not recognized",
        "notify": "6 datasets not rebuilt, 5 jobs not run · owners core-data, growth",
        "fresh": "raw_0.*Healthy",
        "risk": "mart_17.*Not rebuilt.*stg_17 failed",
        "late": "rpt_3.*overdue by 3 d.*Late",
        "pii": "Tagged 4 columns, derived 13, masked 9",
        "drop": "Not safe to drop",
        "columns": "email stg_0",
        "files": "raw_39.*source: no known run wrote it",
        "owned": r"Healthy \(98\)Not rebuilt \(2\)",
        "incomplete": "2 of 2 pipelines are incomplete",
    },
)
_DEMO = Store(
    table="yellow_rides_hourly_forecast",
    source="yellow_taxi_raw",
    column="tpep_pickup_datetime",
    owner="ingestion",
    group="forecasting",
    answers={
        "problems": "No open problems",
        "notify": "No failures, late jobs or failed checks",
        "fresh": "Their freshness is unknown.*yellow_taxi_raw",
        "risk": "0 with a schedule",
        "late": "0 with a schedule",
        "pii": "Tagged 9 columns, derived 0, masked 1",
        "drop": "Not safe to drop",
        "columns": "hour yellow_rides_hourly_actuals",
        "files": r"yellow_tripdata_\d{4}-\d\d\.parquet",
        "owned": "yellow_taxi_raw",
        "incomplete": "No pipeline is known to be incomplete",
    },
)


def _problems(walk: Walk, store: Store) -> None:
    walk.click("problem", within=walk.page.get_by_role("banner"))
    walk.sees(store.answers["problems"])


def _notify(walk: Walk, store: Store) -> None:
    walk.sees(store.answers["notify"])


def _fresh(walk: Walk, store: Store) -> None:
    walk.click("with a schedule" if store is _PROJECT else "without a schedule")
    walk.sees(store.answers["fresh"])


def _risk(walk: Walk, store: Store) -> None:
    if store is _PROJECT:
        walk.click("at risk")
    walk.sees(store.answers["risk"])


def _late(walk: Walk, store: Store) -> None:
    if store is _PROJECT:
        walk.click(r"\d late")
    walk.sees(store.answers["late"])


def _pii(walk: Walk, store: Store) -> None:
    walk.click("^Tags$")
    walk.click("^pii")
    walk.sees(store.answers["pii"])


def _drop(walk: Walk, store: Store) -> None:
    walk.search(f"column:{store.column} name:{store.source}", store.source)
    walk.sees(store.answers["drop"])


def _columns(walk: Walk, store: Store) -> None:
    walk.search(f"column:{store.column} name:{store.source}", store.source)
    walk.click("Downstream columns")
    walk.sees(store.answers["columns"])


def _together(walk: Walk, store: Store) -> None:
    walk.search(f"column:{store.column} name:{store.source}", store.source)
    walk.click("^Highlight the path of ", "button")
    expect(walk.page.get_by_test_id("notes")).to_contain_text("Paths of columns")


def _files(walk: Walk, store: Store) -> None:
    walk.search(store.table, store.table)
    walk.click("^Provenance$")
    walk.sees(store.answers["files"])


def _version(walk: Walk, store: Store) -> None:
    walk.search(f"{store.table} type:table", store.table)
    walk.click_node(store.table)
    walk.click("^Versions", "tab", within=details(walk.page))
    expect(details(walk.page).get_by_role("tabpanel")).to_contain_text("ago")


def _changes(walk: Walk, _: Store) -> None:
    walk.click("Changes since last week")
    expect(walk.page.get_by_role("complementary", name="Differences")).to_be_visible()


def _past(walk: Walk, store: Store) -> None:
    walk.search(store.table, store.table)
    walk.click("^Now", "button")
    walk.click("^24 h ago", "button")
    walk.sees("As of")


def _owned(walk: Walk, store: Store) -> None:
    walk.click("^Owners$")
    walk.click("datasets", within=walk.page.get_by_role("listitem").filter(has_text=store.owner))
    walk.sees(store.answers["owned"])


def _everywhere(walk: Walk, store: Store) -> None:
    walk.search(store.column, "^All .* matches for", "link")
    walk.sees("datasets? with this column")


def _map(walk: Walk, store: Store) -> None:
    walk.click("^Map$")
    walk.click("^Owner$", "button")
    expect(walk.page.locator(f'[data-item="{store.group}"]')).to_contain_text("task")


def _html(walk: Walk, store: Store) -> None:
    walk.search(store.table, store.table)
    walk.click("^Share", "button")
    walk.click("^HTML file", "menuitem")
    expect(walk.page.get_by_text("Command copied").first).to_be_attached()


def _incomplete(walk: Walk, store: Store) -> None:
    walk.click("^Incomplete pipelines$")
    walk.sees(store.answers["incomplete"])


_TASKS: dict[str, tuple[str, Callable[[Walk, Store], None]]] = {
    "What is broken, and with which error?": ("the number of problems in the header", _problems),
    "What was not rebuilt, and who owns it?": ("none: the start page", _notify),
    "Which tables are fresh?": ("Freshness", _fresh),
    "What may be late within 24 hours?": ("at risk", _risk),
    "Which tables are late?": ("late", _late),
    "Where is PII, tagged and derived?": ("Tags, pii", _pii),
    "Is it safe to drop a column?": ("search it, the column", _drop),
    "Which columns are computed from it?": ("search it, the column, Downstream columns", _columns),
    "Compare the paths of two columns": ("search one, the column, + on the other", _together),
    "Which files does this table come from?": ("search it, the table, Provenance", _files),
    "Which run wrote a version?": ("search it, the table, click it, Versions", _version),
    "What changed since last week?": ("Changes since last week", _changes),
    "What did the graph look like yesterday?": ("search it, the table, Now, 24 h ago", _past),
    "What does a team own, in which state?": ("Owners, the datasets of the team", _owned),
    "Where else is this column?": ("search it, All matches", _everywhere),
    "How healthy are the tasks of each owner?": ("Map, Owner", _map),
    "Send the lineage as one HTML file": (
        "search it, the table, Share, HTML file: copies the command",
        _html,
    ),
    "Whose lineage is incomplete?": ("Incomplete pipelines", _incomplete),
}


@pytest.mark.parametrize("task", _TASKS)
def test_task_takes_at_most_four_actions(
    task: str, look_at_project: Look, look_at_demo: Look
) -> None:
    how, act = _TASKS[task]
    counts = []
    for look, store in ((look_at_project, _PROJECT), (look_at_demo, _DEMO)):
        page = look("/")
        expect(page.get_by_text("Newest runs")).to_be_visible()
        walk = Walk(page)
        act(walk, store)
        assert walk.actions <= _MOST
        counts.append(walk.actions)
    row = f"| {task} | {how} | {counts[0]} | {counts[1]} |\n"
    text = _PAGE.read_text()
    if os.environ.get("WRITE_DOCS"):
        former = rf"\| {re.escape(task)} \|[^|\n]*\| \d+ \| \d+ \|\n"
        is_listed = re.search(former, text)
        text = re.sub(former, row, text) if is_listed else text.replace(_HEAD, _HEAD + row)
        _PAGE.write_text(text)
    assert row in text, "run this file again with WRITE_DOCS=1"


def test_table_of_tasks_lists_eighteen_in_the_order_of_the_tests() -> None:
    table = _PAGE.read_text().partition(_HEAD)[2].partition("\n\n")[0]
    assert [row.split(" | ")[0].removeprefix("| ") for row in table.splitlines()] == list(_TASKS)
    assert len(_TASKS) == 18
