"""Names, ids and settings: pure functions of their arguments."""

from __future__ import annotations

import inspect
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headwater_client import RunRef
from headwater_client.parents import CONTEXT, PARENT, ROOT, child_environment
from metaflow_openlineage._names import FlowNames, instant_of
from metaflow_openlineage._settings import Settings

RUN = "01a1fd4a-49ef-7259-9396-ffb99203fb3f"
NAMES = FlowNames("ns", "Flow", "1795259227314473")


@pytest.mark.parametrize(
    ("text", "namespace", "job"),
    [
        (f"ns/dag.task/{RUN}", "ns", "dag.task"),
        (
            f"https://airflow.example/prod/dag.task/{RUN}",
            "https://airflow.example/prod",
            "dag.task",
        ),
        (f"arn:aws:x/y/dag/{RUN}", "arn:aws:x/y", "dag"),
        (f"ns/a job, with: anything/{RUN}", "ns", "a job, with: anything"),
    ],
    ids=["plain", "url", "arn", "odd job"],
)
def test_parent_namespace_may_contain_slashes(text, namespace, job):
    found = RunRef.parse(text)
    assert found == RunRef(namespace, job, RUN)
    assert str(found) == text


@pytest.mark.parametrize("text", ["", "ns/job", f"job/{RUN}", f"/job/{RUN}", "ns/job/not-a-uuid"])
def test_invalid_run_reference_is_ignored(text):
    assert RunRef.parse(text) is None


def test_run_ids_are_deterministic_uuids_of_version_7():
    again = FlowNames("ns", "Flow", "1795259227314473")
    assert NAMES.flow_run() == again.flow_run()
    assert NAMES.attempt("train", "3", 0) == again.attempt("train", "3", 0)
    assert uuid.UUID(NAMES.flow_run().run_id).version == 7


def test_all_runs_have_distinct_ids():
    runs = [
        NAMES.flow_run(),
        NAMES.attempt("train", "3", 0),
        NAMES.attempt("train", "3", 1),
        NAMES.attempt("train", "4", 0),
        NAMES.attempt("end", "3", 0),
        NAMES.query("train", "3", 0, "query_a", 0),
        NAMES.query("train", "3", 0, "query_a", 1),
        FlowNames("ns", "Flow", "1795259227314474").flow_run(),
        FlowNames("other", "Flow", "1795259227314473").flow_run(),
    ]
    assert len({run.run_id for run in runs}) == len(runs)
    assert runs[1].job == "Flow.train"
    assert runs[5].job == "Flow.train.query_a"


def test_only_local_run_ids_have_a_time():
    assert instant_of("1795259227314473") == datetime(2026, 11, 21, 11, 7, 7, 314473, UTC)
    assert instant_of("42") is None
    assert instant_of("argo-flow-x7k2p") is None


def test_settings_without_an_environment_are_the_defaults():
    assert Settings.from_env({}) == Settings()


def test_root_defaults_to_the_parent():
    settings = Settings.from_env({"OPENLINEAGE_PARENT_ID": f"ns/dag.task/{RUN}"})
    assert settings.root == settings.parent == RunRef("ns", "dag.task", RUN)


def test_parent_and_root_are_read_from_the_context():
    parent, root = RunRef("ns", "dag.task", RUN), RunRef("ns", "dag", RUN)
    context = {CONTEXT: child_environment(parent, root)[CONTEXT]}
    settings = Settings.from_env(context)
    assert (settings.parent, settings.root) == (parent, root)


def test_invalid_settings_are_ignored_with_a_warning(capsys, monkeypatch):
    monkeypatch.setattr("metaflow_openlineage._report._warned", False)
    environ = {"OPENLINEAGE_ROOT_PARENT_ID": "nonsense", "METAFLOW_OPENLINEAGE_TIMEOUT": "soon"}
    assert Settings.from_env(environ) == Settings()
    assert capsys.readouterr().err.count("metaflow-openlineage: ") == 1


def test_every_setting_is_documented_in_the_readme():
    code, readme = Path(inspect.getfile(Settings)), Path(__file__).parent.parent / "README.md"
    read = re.findall(r'environ.*"([A-Z_]+)"', code.read_text())
    read += (PARENT, ROOT, CONTEXT)
    assert len(read) == 11
    assert [name for name in read if f"\n| `{name}` | " not in readme.read_text()] == []
