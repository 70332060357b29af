"""Flows that are not changed, not configured or spun, and branches of `@project`."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.metaflow
FLOW = Path(__file__).parent / "flows" / "plain.py"


@pytest.mark.parametrize("how", ["option", "variable", "disabled"])
def test_flow_is_reported_without_a_change(metaflow, how):
    if how == "option":
        launch = metaflow.run(FLOW, "run", "--with", "openlineage")
    else:
        disabled = {"OPENLINEAGE_DISABLED": "true"} if how == "disabled" else {}
        launch = metaflow.run(FLOW, METAFLOW_DECOSPECS="openlineage", **disabled)
    assert launch.process.returncode == 0, launch.process.stderr
    jobs = [event["job"]["name"] for event in launch.events if event["eventType"] == "COMPLETE"]
    assert jobs == ([] if how == "disabled" else ["PlainFlow.start", "PlainFlow.end", "PlainFlow"])


def test_flow_without_transport_prints_one_line(metaflow):
    launch = metaflow.run(FLOW, "run", "--with", "openlineage", OPENLINEAGE__TRANSPORT="")
    output = launch.process.stdout + launch.process.stderr
    assert launch.process.returncode == 0
    assert output.count("nothing is sent, because no transport is configured") == 1
    assert "OpenLineage" not in output
    assert "eventType" not in output


def test_spin_says_that_nothing_is_sent(metaflow):
    metaflow.run(FLOW, "run", "--with", "openlineage")
    launch = metaflow.run(FLOW, "spin", "start", METAFLOW_DECOSPECS="openlineage")
    output = launch.process.stdout + launch.process.stderr
    assert launch.process.returncode == 0, output
    assert output.count("spin reports no lineage: nothing is sent") == 1
    assert not launch.events


def test_separate_branches_have_their_own_jobs_and_artifacts(metaflow):
    flow = FLOW.with_name("branches.py")
    environ = {"METAFLOW_OPENLINEAGE_SEPARATE_BRANCHES": "true"}
    launches = [metaflow.run(flow, *args, **environ) for args in ((), ("--production", "run"))]
    for launch, suffix in zip(launches, (".shop.user.tester", ".shop.prod"), strict=True):
        assert launch.process.returncode == 0, launch.process.stderr
        assert {event["job"]["namespace"] for event in launch.events} == {f"tests{suffix}"}
        parents = [event["run"]["facets"].get("parent", {}) for event in launch.events]
        assert {parent["job"]["namespace"] for parent in parents if parent} == {f"tests{suffix}"}
        (start, end) = (launch.one(f"BranchFlow.{step}", "COMPLETE") for step in ("start", "end"))
        (rows,) = start["outputs"]
        assert (rows["namespace"], rows["name"]) == (f"metaflow://local{suffix}", "BranchFlow/rows")
        assert end["inputs"][0]["namespace"] == rows["namespace"]
        (line,) = [line for line in launch.process.stdout.splitlines() if "SPARK" in line]
        assert line.endswith(f"SPARK tests{suffix}")
        assert launch.process.stdout.count(
            f"FLOW {launch.one('BranchFlow', 'START')['run']['runId']}"
        )
