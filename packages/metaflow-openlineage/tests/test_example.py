"""The example runs without further setup and matches the README."""

from __future__ import annotations

import ast
import json
import re
import uuid
from datetime import datetime
from pathlib import Path

import pytest

from metaflow_openlineage import __all__ as public

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PRODUCER = ROOT.parent / "headwater" / "compatibility" / "producer" / "metaflow"
SCENARIO = PRODUCER / "scenarios" / "line_flow"
CHECKS = {"is_uuid": uuid.UUID, "is_datetime": datetime.fromisoformat}


@pytest.mark.metaflow
def test_example_connects_table_artifact_and_model(metaflow, tmp_path):
    launch = metaflow.run(ROOT / "examples" / "line_flow.py", TMPDIR=str(tmp_path))
    assert launch.process.returncode == 0, launch.process.stderr
    edges = {
        event["job"]["name"]: [
            [dataset["name"] for dataset in event["inputs"]],
            [dataset["name"] for dataset in event["outputs"]],
        ]
        for event in launch.events
        if event["eventType"] == "COMPLETE"
    }
    assert edges == {
        "LineFlow": [[], []],
        "LineFlow.start": [[], ["points"]],
        "LineFlow.start.fill": [[], ["points"]],
        "LineFlow.prepare": [["points"], ["LineFlow/training_data"]],
        "LineFlow.prepare.read": [["points"], []],
        "LineFlow.train": [["LineFlow/training_data"], ["LineFlow/model"]],
        "LineFlow.end": [["LineFlow/model"], []],
    }
    tests = json.loads((SCENARIO / "config.json").read_text())["tests"]
    files = sorted(str(file.relative_to(SCENARIO)) for file in SCENARIO.glob("events/*.json"))
    assert sorted(test["path"] for test in tests) == files
    for file in files:
        expected = json.loads((SCENARIO / file).read_text())
        (event,) = launch.of(expected["job"]["name"], expected["eventType"])
        assert list(differences(expected, event)) == [], file


def differences(expected, event, place="$"):
    """Yield where an event lacks an expected value, as OpenLineage's compatibility tests do."""
    if isinstance(expected, dict) and isinstance(event, dict):
        for key, value in expected.items():
            yield from differences(value, event.get(key), f"{place}.{key}")
    elif isinstance(expected, list) and isinstance(event, list) and len(expected) == len(event):
        for number, (wanted, item) in enumerate(zip(expected, event, strict=True)):
            yield from differences(wanted, item, f"{place}[{number}]")
    elif isinstance(expected, str) and (check := re.match(r"{{ (\w+)\(result\) }}", expected)):
        CHECKS[check[1]](event)
    elif expected != event:
        yield f"{place}: expected {expected}, got {event}"


def test_code_in_the_readme_parses():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        ast.parse(block)


def test_every_public_helper_is_in_the_readme():
    names = set(public) - {"__version__", "Query"}
    assert {name for name in names if not re.search(rf"`@?{name}\b", README)} == set()
