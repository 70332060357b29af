"""The example runs without further setup and matches the README."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from metaflow_openlineage import __all__ as public

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


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


def test_code_in_the_readme_parses():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert blocks
    for block in blocks:
        ast.parse(block)


def test_every_public_helper_is_in_the_readme():
    names = set(public) - {"__version__", "Query"}
    assert {name for name in names if not re.search(rf"`@?{name}\b", README)} == set()
