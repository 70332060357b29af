"""Problems: one per cause, with the reason in its error and what was not rebuilt."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.graph.nodes import Node
from headwater.health.findings import finding
from headwater.plugins.trust._error_lines import telling_lines
from headwater.plugins.trust._health import health_answer
from headwater.plugins.trust._problems import problems_answer
from headwater.plugins.trust.finding_states import FindingStates, StoredState, _id
from headwater.plugins.trust.queries import findings_answer
from headwater.projection import State
from packages.headwater.tests.support.daily_models import models_on_day
from packages.headwater.tests.support.graphs import TASK
from packages.headwater.tests.support.moments import at

_DBT = "Database Error in model orders (models/orders.sql)\n  no space left\n  compiled code at /x"


@pytest.fixture
def state(build: Any) -> State:
    """Return a project whose first model failed, and a failed job on its own."""
    days = [event for day in (18, 19, 20) for event in models_on_day(build, day)]
    failed = models_on_day(build, 21, failed="orders", skipped=("daily", "report"))
    for event in failed:
        if event["job"]["name"] == "shop.orders":
            event["run"]["facets"]["errorMessage"] = {"message": _DBT, "programmingLanguage": "SQL"}
    days[-2]["job"]["facets"]["ownership"] = {"owners": [{"name": "growth"}]}  # of shop.report
    days[-2]["outputs"][0]["facets"] = {
        "tags": {"tags": [{"key": "tier", "value": "1"}]},
        "dbt_exposures": {"exposures": [{"unique_id": "exposure.shop.dashboard"}]},
    }
    alone = build.run("FAIL", "a", "alone", "01:00:00", kind=TASK)
    return at(build.state(*days, *failed, alone), "2025-11-21T08:00:00Z")


def test_problem_has_its_error_and_everything_not_rebuilt(state: State) -> None:
    answer = problems_answer(state)
    orders, alone = answer["items"]
    assert orders["pipeline"] is not None
    assert (orders["cause"]["name"], orders["pipeline"]["name"]) == ("shop.orders", "shop")
    assert (orders["message"], orders["error"]) == ("failed", ["no space left"])
    assert (orders["datasets"], orders["jobs"], orders["exposures"]) == (3, 2, 1)
    finding = findings_answer(state)["items"][0]["message"]
    assert finding.endswith("; blocks 2 jobs, 2 datasets and 1 exposure")  # and `orders` itself
    names = [node["name"] for node in orders["affected"]]
    assert names[0] == "orders"
    assert sorted(names) == [
        "daily", "exposure.shop.dashboard", "orders", "report", "shop.daily", "shop.report",
    ]  # fmt: skip
    assert (orders["owners"], orders["tags"]) == (["growth"], [{"value": "tier:1", "count": 1}])
    assert orders["findings"] == [{"kind": "failed", "subject": "job:demo:shop"}]
    assert (alone["cause"]["name"], alone["datasets"], alone["error"]) == ("alone", 0, [])
    assert health_answer(state)["counts"]["problems"] == answer["total"] == 2


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"owner": "growth"}, ["shop.orders"]),
        ({"owner": ""}, ["alone"]),
        ({"tag": "tier:1"}, ["shop.orders"]),
        ({"age": "hour"}, []),
        ({"age": "day", "kind": "failed"}, ["shop.orders", "alone"]),
        ({"kind": "late"}, []),
        ({"decided": True}, []),
    ],
)
def test_problems_are_filtered(filters: dict[str, Any], names: list[str], state: State) -> None:
    answer = problems_answer(state, **filters)
    assert [problem["cause"]["name"] for problem in answer["items"]] == names
    first = problems_answer(state, **filters, limit=1)
    if first["next"]:
        rest = problems_answer(state, **filters, limit=1, cursor=first["next"])
        assert [*first["items"], *rest["items"]] == answer["items"]


@pytest.mark.parametrize(
    ("filters", "decided"),
    [({}, 1), ({"owner": "growth"}, 0), ({"owner": ""}, 1), ({"kind": "late"}, 0)],
)
def test_decided_problems_are_counted_with_the_same_filters(
    filters: dict[str, Any], decided: int, state: State
) -> None:
    muted = StoredState("failed", "job:demo:alone", "muted", "", None, None)
    stored = FindingStates({_id(finding("failed", Node("job", "demo", "alone"), "", "")): muted})
    answer = problems_answer(state, **filters, stored=stored)
    listed = problems_answer(state, **filters, stored=stored, decided=True)
    assert answer["decided"] == listed["decided"] == listed["total"] == decided


def test_failed_checks_of_a_failed_run_are_the_same_problem(build: Any) -> None:
    check = {"assertion": "not_null", "success": False, "column": "id"}
    test = build.run("FAIL", "t", "test_orders", "06:00:00", reads=("db|orders",), kind=TASK)
    test["inputs"][0]["inputFacets"] = {"dataQualityAssertions": {"assertions": [check]}}
    state = at(build.state(test), "08:00:00")
    assert {found["kind"] for found in findings_answer(state)["items"]} == {"failed", "quality"}
    (problem,) = problems_answer(state)["items"]
    assert problem["error"] == ["orders failed its checks: not_null of id"]
    assert {found["kind"] for found in problem["findings"]} == {"failed", "quality"}


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        ("Compilation Error in model a (b.sql)\n  column x is missing\n", ["column x is missing"]),
        (
            'Traceback (most recent call last):\n  File "a.py", line 3\n    g(1)\nKeyError: 1',
            ["KeyError: 1"],
        ),
        (
            "Py4JJavaError: An error occurred while calling o1.save.\n: java.io.IOException: full"
            "\n\tat org.x.Y.z(Y.java:3)\n\t... 3 more\nCaused by: no inode",
            ["java.io.IOException: full", "Caused by: no inode"],
        ),
        ("a\na\nb\nc\nd", ["a", "b", "c"]),
        ("Database Error", ["Database Error"]),
        (None, []),
    ],
)
def test_lines_of_an_error_skip_headings_and_frames(error: str | None, lines: list[str]) -> None:
    assert telling_lines(error) == lines


def test_message_of_a_left_out_task_omits_its_error(build: Any) -> None:
    failed = models_on_day(build, 20, failed="orders", skipped=("daily", "report"))
    for event in failed:
        if event["job"]["name"] == "shop.orders":
            event["run"]["facets"]["errorMessage"] = {"message": _DBT, "programmingLanguage": "SQL"}
    later = models_on_day(build, 21, skipped=("orders",))
    state = at(build.state(*models_on_day(build, 19), *failed, *later), "2025-11-21T08:00:00Z")
    (finding,) = findings_answer(state)["items"]
    assert "no space left" in finding["message"]
    (problem,) = problems_answer(state)["items"]
    assert (problem["severity"], problem["error"]) == ("warning", ["no space left"])
    assert problem["message"] == "failed; its pipeline ran again without it"
