"""The freshness of datasets: last write, usual interval, due time and risks."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.plugins.search._freshness import datasets_freshness_answer
from headwater.projection import State
from packages.headwater.tests.support.daily_models import models_on_day
from packages.headwater.tests.support.moments import at


@pytest.fixture
def events(build: Any) -> list[dict[str, Any]]:
    """Return runs of a project on three days, of which the last failed at its second model."""
    days = [event for day in (17, 18, 19, 20) for event in models_on_day(build, day)]
    return [*days, *models_on_day(build, 21, failed="daily", skipped=("report",))]


def _listed(state: State, due: Any) -> list[str]:
    return [item["name"] for item in datasets_freshness_answer(state, due=due)["items"]]


def test_datasets_have_interval_due_time_and_risks(events: list[Any], build: Any) -> None:
    state = at(build.state(*events), "2025-11-21T08:00:00Z")
    answer = datasets_freshness_answer(state)
    items = {item["name"]: item for item in answer["items"]}
    assert {item["everySeconds"] for item in items.values()} == {86_400}
    assert items["orders"]["dueAt"] == "2025-11-22T06:00:00Z"
    assert items["report"]["dueAt"] == "2025-11-21T06:00:00Z"
    assert {name for name, item in items.items() if item["isOverdue"]} == {"report"}
    assert [risk["name"] for risk in items["report"]["risks"]] == ["shop.daily"]
    assert items["orders"]["risks"] == []
    (source,) = datasets_freshness_answer(state, due="sources")["items"]
    assert (source["name"], source["everySeconds"], source["isSource"]) == ("/in", None, True)
    counts = {"scheduled": 3, "unscheduled": 0, "sources": 1, "late": 0, "day": 3, "risk": 2}
    assert answer["counts"] == counts
    files = datasets_freshness_answer(state, type_="file")
    assert files["counts"] == dict.fromkeys(counts, 0) | {"sources": 1}
    assert files["total"] == 0


def test_healthy_dataset_downstream_of_an_open_failure_is_at_risk(build: Any) -> None:
    other = [
        build.run("COMPLETE", f"o{day}", "hourly", "07:00:00", reads=("db|daily",),
                  writes=("db|summary",)) | {"eventTime": f"2025-11-{day}T05:00:00Z"}
        for day in (17, 18, 19, 20, 21)
    ]  # fmt: skip
    days = [event for day in (17, 18, 19, 20) for event in models_on_day(build, day)]
    failed = models_on_day(build, 21, failed="daily", skipped=("report",))
    state = at(build.state(*days, *other, *failed), "2025-11-21T08:00:00Z")
    summary = next(i for i in datasets_freshness_answer(state)["items"] if i["name"] == "summary")
    assert summary["health"]["state"] == "healthy"
    assert [risk["name"] for risk in summary["risks"]] == ["shop.daily"]
    assert "summary" in _listed(state, "risk")


@pytest.mark.parametrize(
    ("now", "parts"),
    [
        ("2025-11-21T08:00:00Z", {"day": ["report", "daily", "orders"], "late": []}),
        ("2025-11-23T08:00:00Z", {"day": ["report", "daily", "orders"], "late": ["orders"]}),
        ("2026-03-01T00:00:00Z", {"day": [], "risk": [], "late": []}),
    ],
)
def test_part_follows_the_time(
    now: str, parts: dict[str, list[str]], events: list[Any], build: Any
) -> None:
    state = at(build.state(*events), now)
    assert {part: _listed(state, part) for part in parts} == parts
