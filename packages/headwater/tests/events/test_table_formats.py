"""Logs of table formats are no datasets, and versions are those that a run read and wrote."""

from __future__ import annotations

from typing import Any

from headwater.plugins.incidents.queries import version_answer
from headwater.projection import State

_SPACE = "s3://lake|"


def _merge(build: Any, number: str, job: str, hour: str, old: int, new: int | None) -> list[Any]:
    """Return the events of a MERGE of Delta Lake, which fails without a new version."""
    events = []
    moments = [("START", "00", old), ("COMPLETE" if new else "FAIL", "30", new)]
    for kind, minute, version in moments:
        event = build.run(kind, number, job, f"{hour}:{minute}:00")
        facets = {"version": {"datasetVersion": str(version)}} if version else {}
        event["inputs"] = [build.dataset(f"{_SPACE}orders", **facets)]
        event["outputs"] = [build.dataset(f"{_SPACE}orders", **facets)]
        events.append(event)
    return events


def _readers(state: State, version: int) -> list[str]:
    answer = version_answer(state, f"orders@{version}")
    return [f"{reader['run']['job']['name']} {reader['by']}" for reader in answer["readers"]]


def test_log_of_a_table_is_no_dataset(build: Any) -> None:
    event = build.run("COMPLETE", "1", "job", "01:00:00")
    names = ("orders", "orders/_delta_log", "copies/_delta_log/0.json", "sink/_spark_metadata")
    event["inputs"] = [build.dataset(_SPACE + name) for name in (*names, "trips/.hoodie/x")]
    state = build.state(event)
    assert {name.name for name in state.datasets} == {"orders"}


def test_merge_read_the_version_before_its_own(build: Any) -> None:
    """Delta Lake reports the newest version at the time of the event for input and output."""
    events = [*_merge(build, "1", "first", "01", 1, 2), *_merge(build, "2", "second", "02", 2, 3)]
    state = build.state(*events)
    writers = {use.version for run in state.runs.values() for use in run.outputs.values()}
    assert writers == {"2", "3"}
    assert _readers(state, 2) == ["second version"]
    assert _readers(state, 3) == []


def test_version_at_the_start_of_a_failed_run_is_none_that_it_wrote(build: Any) -> None:
    events = [
        *_merge(build, "1", "first", "01", 1, 2),
        *_merge(build, "2", "second", "02", 2, None),
    ]
    (run,) = (run for run in build.state(*events).runs.values() if run.key.job.name == "second")
    (written,), (read,) = run.outputs.values(), run.inputs.values()
    assert (written.versions, read.version) == ((), "2")


def test_version_of_a_table_that_existed_already_is_none_that_its_creation_wrote(
    build: Any,
) -> None:
    for condition, versions in (("if not exists ", None), ("", "7")):
        event = build.run("COMPLETE", "1", "job", "01:00:00")
        text = f"create table {condition}orders (id int) using delta"
        event["job"]["facets"]["sql"] = {"query": text}
        event["outputs"] = [build.dataset(f"{_SPACE}orders", version={"datasetVersion": "7"})]
        (run,) = build.state(event).runs.values()
        assert [use.version for use in run.outputs.values()] == [versions]
