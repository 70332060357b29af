"""The gate as an Airflow task and as a sensor, with a real lineage server."""

from __future__ import annotations

import pytest

from lakehouse.names import Table
from lakehouse.settings import Settings
from tests.airflow.airflow_python import printed_by
from tests.lakehouse.test_gate import lineage as lineage
from tests.lakehouse.test_gate import loaded

pytestmark = [pytest.mark.airflow, pytest.mark.server]

CHECK = """
import json, sys
from gate_tasks import ProvenanceOperator, ProvenanceSensor
from lakehouse.gate import GateRejected
from lakehouse.names import Table

def result(create, run, **options):
    task = create(task_id="gate", tables=[Table(sys.argv[1])], **options)
    try:
        return run(task)
    except GateRejected as error:
        return type(error).__name__

results = {
    "operator": result(ProvenanceOperator, lambda task: task.execute({})),
    "ungated": result(ProvenanceOperator, lambda task: task.execute({}), ungated=True),
    "sensor": result(ProvenanceSensor, lambda task: task.poke({})),
}
facets = ProvenanceOperator(task_id="gate", tables=[]).get_openlineage_facets_on_complete(None)
results["inputs"] = len(facets.inputs)
print("RESULTS" + json.dumps(results))
"""


@pytest.mark.parametrize(
    ("table", "state", "operator", "ungated", "sensor"),
    [
        ("approved", "COMPLETE", "passed", "passed", True),
        ("rejected", "FAIL", "GateRejected", "ungated: no_failed_runs: ", False),
    ],
)
def test_gate_task_fails_and_sensor_waits_if_the_table_is_rejected(
    table: str,
    state: str,
    operator: str,
    ungated: str,
    sensor: bool,
    lineage: Settings,
) -> None:
    loaded(lineage, Table(table), state=state)
    results = printed_by(CHECK, lineage, "RESULTS", table)
    assert results.pop("ungated").startswith(ungated)
    assert results == {"operator": operator, "sensor": sensor, "inputs": 0}
