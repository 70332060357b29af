"""States of views and exposures, which show the rows of their tables."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.health.blocked import blockers_of, risks_of
from headwater.health.states import health_of
from headwater.lookup import find_node
from packages.headwater.tests.support.graphs import TASK
from packages.headwater.tests.support.moments import at

_FAILED = {"dataQualityAssertions": {"assertions": [{"assertion": "not_null", "success": False}]}}


def _view(build: Any, time: str) -> dict[str, Any]:
    """Return the run of an unscheduled script that creates a view of a table."""
    run = build.run("COMPLETE", f"view-{time}", "script", time, kind=TASK, reads=("db|rides",),
                    writes=("db|shown",))  # fmt: skip
    run["job"]["facets"]["sql"] = {"query": "create view shown as select * from rides"}
    return run  # type: ignore[no-any-return]


@pytest.mark.parametrize("created", ["01:00:00", "05:00:00"])
def test_view_shows_failed_data_whenever_it_was_created(created: str, build: Any) -> None:
    load = build.run("COMPLETE", "l", "load", "02:00:00", kind=TASK, writes=("db|rides",))
    check = build.run("FAIL", "c", "check", "03:00:00", kind=TASK, reads=("db|rides",))
    check["inputs"][0]["inputFacets"] = _FAILED
    copy = build.run("COMPLETE", "t", "copy", "02:30:00", kind=TASK, reads=("db|shown",),
                     writes=("db|copied",))  # fmt: skip
    state = at(build.state(_view(build, created), load, check, copy), "06:00:00")
    health = health_of(state, find_node(state, "shown"))
    assert health["state"] == "failed_checks"
    assert health["message"] == "shows data of rides that failed its check not_null"
    assert [node["id"] for node in health["by"]] == ["job:demo:check"]
    assert health_of(state, find_node(state, "copied"))["state"] == "healthy"  # was not due
    assert health_of(state, find_node(state, "script"))["state"] == "healthy"


def test_job_that_ran_and_failed_does_not_wait_for_a_failure_above(build: Any) -> None:
    """It failed by itself, so it is not counted as a job that was not run."""
    load = build.run("FAIL", "l", "load", "02:00:00", kind=TASK, writes=("db|rides",))
    before = build.run("COMPLETE", "b", "load", "00:30:00", kind=TASK, writes=("db|rides",))
    copy = build.run("FAIL", "t", "copy", "02:30:00", kind=TASK, reads=("db|rides",),
                     writes=("db|copied",))  # fmt: skip
    state = at(build.state(before, load, copy), "06:00:00")
    node = find_node(state, "copy")
    assert (blockers_of(state, node), risks_of(state, node)) == ([], [])
    assert [item.name for item in risks_of(state, find_node(state, "copied"))] == ["copy", "load"]
