"""Flows that are not changed, not configured or spun."""

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
