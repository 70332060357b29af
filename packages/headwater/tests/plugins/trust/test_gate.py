"""The gate: passing provenance, and violations with rule and subject."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from headwater.errors import ConfigError, NotFoundError
from headwater.health.states import health_of
from headwater.lookup import find_dataset
from headwater.plugins.trust.queries import gate_answer
from headwater.projection import State
from packages.headwater.tests.support.columns import IDENTITY, MASKED, makes, tagged
from packages.headwater.tests.support.graphs import DAG, TASK
from packages.headwater.tests.support.moments import WEEK, at
from packages.headwater.tests.support.reports import checked

NOW = "2025-11-21T12:00:00Z"
_LOST = "started but sent no end event"


def _gate(state: State, node: str, **policy: Any) -> list[dict[str, Any]]:
    """Return the violations of a policy with only the given rules."""
    import json

    off = {"no_failed_runs": False, "quality_passed": False, "no_pii": False}
    answer = gate_answer(state, [node], json.dumps(off | policy))
    (result,) = answer["datasets"]
    assert answer["passed"] is result["passed"] is (not result["violations"])
    violations: list[dict[str, Any]] = result["violations"]
    return violations


def _chain(build: Any) -> list[dict[str, Any]]:
    """Return completely reported lineage: file → load → raw → train → model."""
    load = build.run("COMPLETE", "l", "load", "08:00:00", reads=("file|/in/a.csv",))
    load["outputs"] = [build.dataset("db|raw", version={"datasetVersion": "1"})]
    train = build.run("COMPLETE", "t", "train", "09:00:00", writes=("mf|model",))
    train["inputs"] = [build.dataset("db|raw", version={"datasetVersion": "1"})]
    train["outputs"] = [build.dataset("mf|model", datasetType={"datasetType": "MODEL"})]
    for event in (load, train):
        event["job"]["facets"]["sourceCodeLocation"] = {"type": "git", "url": "u", "version": "a"}
    return [load, train]


def _state(build: Any, *more: dict[str, Any]) -> State:
    return at(build.state(*_chain(build), *more), NOW)


def test_passing_gate_returns_the_default_policy(
    build: Any,
) -> None:
    answer = gate_answer(_state(build), ["model", "raw"])
    assert answer["passed"] is True
    assert [dataset["id"] for dataset in answer["datasets"]] == [
        "dataset:mf:model",
        "dataset:db:raw",
    ]
    assert answer["policy"] == {
        "no_failed_runs": True, "follow_control": True, "quality_passed": True, "no_pii": True,
        "no_tainted": True, "exists": True, "fresh": False, "allow_muted": False,
        "allow_deleted_sources": False, "sources": None, "completeness": {},
    }  # fmt: skip
    with pytest.raises(NotFoundError):
        gate_answer(_state(build), ["model", "nothing"])


def test_source_matching_no_pattern_is_a_violation(build: Any) -> None:
    assert _gate(_state(build), "model", sources=["file:/in/*"]) == []
    (result,) = _gate(_state(build), "model", sources=["file:/out/*", "s3:*"])
    assert (result["kind"], result["subject"]) == ("sources", "dataset:file:/in/a.csv")
    assert result["message"] == "is not an allowed source"
    unwritten = _gate(_state(build), "/in/a.csv", sources=["db:*"])
    assert [item["subject"] for item in unwritten] == ["dataset:file:/in/a.csv"]


def test_control_edges_count_only_for_failed_runs(build: Any) -> None:
    after = build.run("COMPLETE", "l", "load", "08:00:01",
                      facets={"jobDependencies": {"upstream": [
                          {"job": {"namespace": "demo", "name": "first"}}]}})  # fmt: skip
    failed = build.run("FAIL", "f", "first", "07:00:00", reads=("ftp|/x",), writes=("db|other",))
    state = _state(build, after, failed)
    assert _gate(state, "model", sources=["file:*"], quality_passed=True) == []
    ignoring = {"no_failed_runs": True, "follow_control": False}
    assert _gate(state, "model", **ignoring) == []
    for dataset in ("model", "other"):
        assert [f["runId"] for f in _gate(state, dataset, no_failed_runs=True)] == ["f"]
    repeated = build.run("COMPLETE", "f2", "first", "07:30:00", writes=("db|other",))
    late = build.run("FAIL", "f3", "first", "10:00:00", writes=("db|other",))
    state = _state(build, after, failed, repeated, late)
    assert _gate(state, "model", no_failed_runs=True) == []


def _ordered(build: Any, key: str, name: str, after: list[str], **run: Any) -> dict[str, Any]:
    """Return a run of an Airflow task of the DAG run `d`."""
    facets = {"airflow": {"task": {"upstream_task_ids": str(after)}}}
    state, time = run.pop("state", "COMPLETE"), run.pop("time")
    run |= {"parent": ("d", "dag"), "kind": TASK, "facets": facets}
    event: dict[str, Any] = build.run(state, key, f"dag.{name}", time, **run)
    return event


def test_failed_task_before_a_writer_or_its_trigger_is_a_violation(build: Any) -> None:
    """`write` runs although an earlier task failed, and its asset triggers another DAG."""
    trigger = {"job": {"namespace": "demo", "name": "dag.write"}, "run": {"runId": "w"}}
    events = [
        build.run("COMPLETE", "d", "dag", "08:50:00", kind=DAG),
        _ordered(build, "p", "per_region", [], state="FAIL", time="08:10:00"),
        _ordered(build, "n", "notify", [], state="FAIL", time="08:10:00"),
        _ordered(build, "g", "group.merge", ["per_region"], time="08:20:00"),
        _ordered(build, "w", "write", ["group.merge"], time="08:30:00", writes=("db|report",)),
        build.run("COMPLETE", "s", "ship", "09:30:00", kind=DAG,
                  facets={"jobDependencies": {"upstream": [trigger]}}),
        build.run("COMPLETE", "s1", "ship.load", "09:10:00", parent=("s", "ship"), kind=TASK,
                  writes=("db|shipped",)),
    ]  # fmt: skip
    for dataset in ("report", "shipped"):
        found = _gate(at(build.state(*events), NOW), dataset, no_failed_runs=True)
        assert [(f["subject"], f["pipeline"]) for f in found] == [
            ("job:demo:dag.per_region", "job:demo:dag")
        ]
    again = _ordered(build, "p2", "per_region", [], time="08:15:00")
    state = at(build.state(*events, again), NOW)
    assert _gate(state, "shipped", no_failed_runs=True) == []


def test_upstream_failed_or_stale_run_is_a_violation_unless_repeated(
    build: Any,
) -> None:
    error = {"errorMessage": {"message": "disk\nfull"}}
    failed = build.run("FAIL", "l2", "load", "10:00:00", writes=("db|raw",), facets=error)
    (result,) = _gate(_state(build, failed), "raw", no_failed_runs=True)
    assert (result["runId"], result["subject"]) == ("l2", "job:demo:load")
    assert result["message"] == "failed: disk full"
    assert _gate(_state(build, failed), "model", no_failed_runs=True) == []  # trained before
    again = build.run("COMPLETE", "l3", "load", "11:00:00", writes=("db|raw",))
    assert _gate(_state(build, failed, again), "raw", no_failed_runs=True) == []

    open_ = build.run("START", "l4", "load", "10:30:00", writes=("db|raw",))
    assert _gate(_state(build, open_), "raw", no_failed_runs=True) == []
    later = at(_state(build, open_), "2025-11-23T00:00:00Z")
    assert [item["message"] for item in _gate(later, "raw", no_failed_runs=True)] == [_LOST]


def test_run_that_failed_without_datasets_is_a_violation(build: Any) -> None:
    failed = build.run("FAIL", "l2", "load", "10:00:00")
    (result,) = _gate(_state(build, failed), "raw", no_failed_runs=True)
    assert (result["runId"], result["message"]) == ("l2", "failed")
    assert _gate(_state(build, failed), "model", no_failed_runs=True) == []  # trained before
    before = build.run("FAIL", "l2", "load", "08:30:00")
    assert len(_gate(_state(build, before), "model", no_failed_runs=True)) == 1
    again = build.run("COMPLETE", "l3", "load", "11:00:00")
    assert _gate(_state(build, failed, again), "raw", no_failed_runs=True) == []

    silent = at(_state(build, build.run("START", "l2", "load", "10:00:00")), "2025-11-23T00:00:00Z")
    assert [item["message"] for item in _gate(silent, "raw", no_failed_runs=True)] == [_LOST]


def test_failed_element_of_a_task_counts_despite_later_elements(
    build: Any,
) -> None:
    elements = [
        build.run(
            type_, run, "dag.t", time, parent=("d", "dag"), kind="AIRFLOW/TASK", writes=writes
        )
        for run, type_, time, writes in (
            ("1", "START", "08:00:00", ()),
            ("2", "COMPLETE", "08:01:00", ("db|t",)),
            ("1", "FAIL", "08:02:00", ()),
        )
    ]
    (result,) = _gate(at(build.state(*elements), NOW), "t", no_failed_runs=True)
    assert result["runId"] == "1"


def test_failed_attempt_repeated_under_its_parent_is_no_violation(build: Any) -> None:
    def tried(run: str, type_: str, time: str) -> dict[str, Any]:
        event: dict[str, Any] = build.run(type_, run, "dag.t", time, parent=("d", "dag"),
                                          kind="AIRFLOW/TASK", writes=("db|t",))  # fmt: skip
        return event

    failed, again = tried("1", "FAIL", "08:00:00"), tried("2", "COMPLETE", "08:05:00")
    assert _gate(at(build.state(failed, again), NOW), "t", no_failed_runs=True) == []
    assert len(_gate(at(build.state(failed), NOW), "t", no_failed_runs=True)) == 1


def test_late_upstream_pipeline_violates_the_freshness_rule(build: Any) -> None:
    events = []
    for day in WEEK:
        event = build.run("COMPLETE", day, "daily", "00:00:00", reads=("f|a",), writes=("db|t",))
        events.append(event | {"eventTime": f"{day}T06:00:00Z"})
    state = at(build.state(*events), "2025-11-15T07:00:00Z")
    assert _gate(state, "t", fresh=True) == []
    (result,) = _gate(at(state, "2025-11-16T06:00:00Z"), "t", fresh=True)
    assert result["subject"] == "job:demo:daily"
    assert result["message"].endswith("was due at 2025-11-15T06:00:00Z")
    assert _gate(state, "t") == []


def _check(build: Any, hour: str, version: str | None, **fields: Any) -> dict[str, Any]:
    event = checked(build, hour, {"assertion": "not_null", "column": "id", **fields})
    facets = {"version": {"datasetVersion": version}} if version else {}
    event["inputs"][0] |= {"namespace": "db", "name": "raw", "facets": facets}
    return event


@pytest.mark.parametrize(
    ("checks", "refused"),
    [
        ([("08", "1", False)], True),
        ([("08", "1", False), ("10", "1", True)], False),  # the newest check of a version counts
        ([("08", "1", True), ("10", "1", False)], True),
        ([("10", "2", False)], False),  # of a version without downstream data
        ([("08", "1", False), ("10", "2", True)], True),
        ([("10", None, False)], True),  # the producer reports no version: its newest check counts
        ([("10", None, False), ("11", None, True)], False),
    ],
)
def test_newest_assertions_of_every_upstream_version_must_pass(
    checks: list[tuple[str, str | None, bool]], refused: bool, build: Any
) -> None:
    events = [_check(build, hour, version, success=ok) for hour, version, ok in checks]
    result = _gate(_state(build, *events), "model", quality_passed=True)
    assert bool(result) is refused
    for item in result:
        assert (item["subject"], item["column"]) == ("dataset:db:raw", "id")
        assert item["message"].startswith("failed its checks")
        assert item["message"].endswith(": not_null of id")


def test_assertion_of_severity_warn_is_no_violation(build: Any) -> None:
    event = _check(build, "10", "1", success=False, severity="warn")
    assert _gate(_state(build, event), "model", quality_passed=True) == []


def test_low_completeness_is_a_violation_naming_the_jobs(build: Any) -> None:
    assert _gate(_state(build), "model", completeness={"inputs": 1, "code": 1, "ends": 1}) == []
    bare = build.run("COMPLETE", "x", "bare", "08:30:00", reads=("file|/y",), writes=("db|raw",))
    (result,) = _gate(_state(build, bare), "raw", completeness={"code": 0.9, "inputs": 1})
    assert result["subject"] == "job:demo:bare"
    assert result["message"] == (
        "code: 50% of 2 runs are complete, the policy requires 90%; incomplete: bare"
    )  # fmt: skip
    assert _gate(_state(build, bare), "raw", completeness={"code": 0.5}) == []


def _trained(build: Any, how: Any) -> State:
    """Return the events of raw.email → features, by a transformation, → model."""
    model = build.run("COMPLETE", "m", "train", "10:00:00", reads=("db|features",))
    model["outputs"] = [build.dataset("mf|model", datasetType={"datasetType": "MODEL"})]
    after = build.run("COMPLETE", "w", "write", "11:00:00", reads=("mf|model",),
                      writes=("db|forecast",))  # fmt: skip
    return build.state(
        tagged(build, "db|raw", ("pii", "true", "email")),
        makes(build, "08", "raw", "features", {"hash": [("email", how)]}), model, after,
    )  # fmt: skip


def test_unmasked_pii_in_model_inputs_is_a_violation(build: Any) -> None:
    result = _gate(_trained(build, IDENTITY), "model", no_pii=True)
    places = {(item["subject"], item["column"]) for item in result}
    assert places == {("dataset:db:features", "hash"), ("dataset:mf:model", None)}
    assert {item["message"] for item in result} == {
        "contains PII in hash from raw.email",
        "may contain PII from raw.email",  # no column lineage of the model
    }
    for node in ("model", "features", "forecast"):
        assert _gate(_trained(build, MASKED), node, no_pii=True) == []
    assert len(_gate(_trained(build, MASKED), "raw", no_pii=True)) == 1


def test_order_of_events_does_not_change_the_response(build: Any) -> None:
    failed = build.run("FAIL", "l2", "load", "10:00:00", writes=("db|raw",))
    events = [*_chain(build), failed, _check(build, "10", "1", success=False)]
    expected = gate_answer(at(build.state(*events), NOW), ["raw", "model"])
    assert not expected["passed"]
    for order in permutations(events):
        state = at(build.state(*order, order[0]), NOW)
        assert gate_answer(state, ["raw", "model"]) == expected


@pytest.mark.parametrize("text", ["{", "[1", "[" * 100_000])
def test_policy_that_is_not_json_is_rejected(text: str, build: Any) -> None:
    with pytest.raises(ConfigError, match="policy: received .* expected JSON"):
        gate_answer(_state(build), ["raw"], text)


def _pipeline(build: Any, hour: int, load: str, end: str, names: tuple[str, ...]) -> list[Any]:
    """Return a run of a pipeline with a load and the report on it, which needs the load."""
    run = (f"d{hour}", "dag")
    writes = ("db|raw",) if end in names else ()
    parts = [
        build.run(end, f"l{hour}", load, f"{hour}:01:00", parent=run, kind=TASK,
                  reads=("db|in",), writes=writes),
    ]  # fmt: skip
    if end == "COMPLETE":
        parts.append(
            build.run(end, f"r{hour}", "dag.report", f"{hour}:02:00", parent=run, kind=TASK,
                      reads=("db|raw",), writes=("db|mart",))
        )  # fmt: skip
    return [*parts, build.run(end, *run, f"{hour}:03:00", kind=DAG)]


def _verdicts(state: State, *names: str) -> list[tuple[str, bool]]:
    return [
        (
            health_of(state, find_dataset(state, name))["state"],
            not _gate(state, name, no_failed_runs=True),
        )
        for name in names
    ]


@pytest.mark.parametrize("names", [("COMPLETE",), ("COMPLETE", "FAIL")])
def test_pipeline_recovers_through_a_task_of_another_name(
    names: tuple[str, ...], build: Any
) -> None:
    events = [
        *_pipeline(build, 10, "dag.load.run", "COMPLETE", names),
        *_pipeline(build, 11, "dag.load.run", "FAIL", names),
    ]
    assert _verdicts(build.state(*events), "raw") == [("failed", False)]
    events += _pipeline(build, 12, "dag.load", "COMPLETE", names)
    for ordered in (events, events[::-1]):
        state = build.state(*ordered)
        assert _verdicts(state, "raw", "mart") == [("healthy", True)] * 2


@pytest.mark.parametrize("has_data_before", [True, False])
def test_retry_without_the_dataset_is_no_recovery(has_data_before: bool, build: Any) -> None:
    """The failed attempt may have changed data, or created the table."""

    def attempt(run: str, minute: int, end: str, *writes: str) -> dict[str, Any]:
        return dict(build.run(end, run, "dag.load", f"12:0{minute}:00", parent=("d12", "dag"),
                              kind=TASK, reads=("db|s",), writes=writes))  # fmt: skip

    before = build.run("COMPLETE", "a", "dag.load", "11:00:00", kind=TASK, writes=("db|raw",))
    failed = attempt("b", 1, "FAIL", "db|raw")
    end = build.run("COMPLETE", "d12", "dag", "12:09:00", kind=DAG)
    for writes, expected in (
        ((), ("unknown", False)),
        (("db|other",), ("unknown", False)),
        (("db|raw",), ("healthy", True)),
    ):
        events = [failed, attempt("c", 2, "COMPLETE", *writes), end, *[before] * has_data_before]
        for ordered in (events, events[::-1]):
            assert _verdicts(build.state(*ordered), "raw") == [expected], writes


def test_pipeline_run_without_the_failed_task_is_no_recovery(build: Any) -> None:
    """For example, `dbt run --select` runs only some models."""
    root = ("d12", "dag")
    events = [
        *_pipeline(build, 10, "dag.load", "COMPLETE", ("COMPLETE",)),
        *_pipeline(build, 11, "dag.load", "FAIL", ("COMPLETE",)),
        build.run("COMPLETE", "o12", "dag.other", "12:01:00", parent=root, kind=TASK,
                  reads=("db|x",), writes=("db|y",)),
        build.run("COMPLETE", *root, "12:03:00", kind=DAG),
    ]  # fmt: skip
    for ordered in (events, events[::-1]):
        assert _verdicts(build.state(*ordered), "raw") == [("failed", False)]


@pytest.mark.parametrize(
    ("other", "reads", "expected"),
    [
        ("10:30:00", ("db|in",), ("failed", False)),
        ("11:30:00", ("db|in",), ("healthy", True)),
        ("11:30:00", ("db|us",), ("failed", False)),
        (None, (), ("failed", False)),
    ],
)
def test_failed_run_recovers_only_through_a_successor(
    other: str | None, reads: tuple[str, ...], expected: tuple[str, bool], build: Any
) -> None:
    """A job that wrote the table before the failure, or from other sources, writes other rows."""
    events = [
        build.run("COMPLETE", "1", "load", "10:00:00", reads=("db|in",), writes=("db|raw",)),
        build.run("FAIL", "2", "load", "11:00:00"),
    ]
    for number, time in enumerate((other, "12:00:00") if other else ()):
        events.append(
            build.run("COMPLETE", f"o{number}", "load_2", time, reads=reads, writes=("db|raw",))
        )
    for ordered in (events, events[::-1]):
        assert _verdicts(build.state(*ordered), "raw") == [expected]


def test_recovery_after_a_reader_ended_does_not_count(build: Any) -> None:
    events = [
        *_pipeline(build, 10, "dag.load.run", "COMPLETE", ("COMPLETE",)),
        *_pipeline(build, 11, "dag.load.run", "FAIL", ("COMPLETE",)),
        build.run("COMPLETE", "e", "export", "11:30:00", reads=("db|raw",), writes=("db|out",)),
        *_pipeline(build, 12, "dag.load", "COMPLETE", ("COMPLETE",)),
    ]
    assert _gate(build.state(*events), "out", no_failed_runs=True)
    again = build.run("COMPLETE", "e2", "export", "13:00:00", reads=("db|raw",), writes=("db|out",))
    assert not _gate(build.state(*events, again), "out", no_failed_runs=True)


def test_table_that_was_dropped_and_written_by_another_job_is_healthy(build: Any) -> None:
    drop = build.run("COMPLETE", "d", "drop", "12:00:00", writes=("db|raw",))
    drop["outputs"][0]["facets"] = {"lifecycleStateChange": {"lifecycleStateChange": "DROP"}}
    events = [
        build.run("COMPLETE", "n0", "new", "09:00:00", reads=("db|x",), writes=("db|raw",)),
        build.run("COMPLETE", "1", "load", "10:00:00", reads=("db|in",), writes=("db|raw",)),
        build.run("FAIL", "2", "load", "11:00:00", reads=("db|in",), writes=("db|raw",)),
        drop,
        build.run("COMPLETE", "n1", "new", "13:00:00", reads=("db|x",), writes=("db|raw",)),
    ]
    for ordered in (events, events[::-1]):
        assert _verdicts(build.state(*ordered), "raw") == [("healthy", True)]


@pytest.mark.parametrize(
    ("results", "violated"),
    [
        (((9, False), (13, True)), ("report",)),
        (((9, True), (13, False)), ("t",)),
        (((9, False),), ("report", "t")),  # the newer data was not checked
        (((9, False), (10, True)), ()),
    ],
)
def test_check_counts_for_the_data_that_it_examined(
    results: tuple[tuple[int, bool], ...], violated: tuple[str, ...], build: Any
) -> None:
    """`t` is written at 8:00 and 12:00; the report reads it at 11:00."""
    events = [
        build.run("COMPLETE", "w1", "load", "08:00:00", writes=("db|t",)),
        build.run("COMPLETE", "r", "sum", "11:00:00", reads=("db|t",), writes=("db|report",)),
        build.run("COMPLETE", "w2", "load", "12:00:00", writes=("db|t",)),
    ]
    for hour, success in results:
        assertions = [{"assertion": "unique", "success": success}]
        check = build.run("COMPLETE", f"c{hour}", "check", f"{hour:02}:30:00")
        facets = {"dataQualityAssertions": {"assertions": assertions}}
        check["inputs"] = [{**build.dataset("db|t"), "inputFacets": facets}]
        events.append(check)
    state = build.state(*events)
    failed = {name for name in ("t", "report") if not gate_answer(state, [name])["passed"]}
    assert failed == set(violated)


def test_failed_check_of_a_version_counts_if_the_writer_reports_none(build: Any) -> None:
    check = build.run("COMPLETE", "c", "check", "09:00:00")
    facets = {"dataQualityAssertions": {"assertions": [{"assertion": "a", "success": False}]}}
    version = {"version": {"datasetVersion": "7"}}
    check["inputs"] = [{**build.dataset("db|t"), "facets": version, "inputFacets": facets}]
    load = build.run("COMPLETE", "w", "load", "08:00:00", writes=("db|t",))
    assert not gate_answer(build.state(load, check), ["t"])["passed"]


_ROWS = {"outputStatistics": {"rowCount": 5}}


@pytest.mark.parametrize("reads", [("db|src",), ("db|src", "db|t")], ids=["append", "merge"])
@pytest.mark.parametrize("reported", [False, True])
def test_state_and_gate_agree_on_a_merge_that_failed_and_completed(
    reported: bool, reads: tuple[str, ...], build: Any
) -> None:
    def ran(type_: str, hour: str) -> dict[str, Any]:
        event = build.run(type_, f"r{hour}", "load", f"{hour}:00:00", reads=reads)
        facets = _ROWS if reported or type_ == "COMPLETE" else {}
        output = {**build.dataset("db|t"), "outputFacets": facets}
        return {**event, "outputs": [output]}

    failed = [ran("COMPLETE", "07"), ran("FAIL", "08")]
    before = at(build.state(*failed), NOW)
    assert health_of(before, find_dataset(before, "t"))["state"] == "failed"
    assert _gate(before, "t", no_failed_runs=True)
    copy = build.run("COMPLETE", "c", "copy", "08:30:00", reads=("db|t",), writes=("db|early",))
    late = build.run("COMPLETE", "d", "later", "11:00:00", reads=("db|t",), writes=("db|late",))
    state = at(build.state(*failed, copy, ran("COMPLETE", "09"), ran("COMPLETE", "10"), late), NOW)
    keeps = reported and "db|t" in reads
    assert health_of(state, find_dataset(state, "t"))["state"] == (
        "unknown" if keeps else "healthy"
    )
    for name in ("t", "late"):
        runs = [found["runId"] for found in _gate(state, name, no_failed_runs=True)]
        assert runs == (["r08"] if keeps else []), name
    assert [found["runId"] for found in _gate(state, "early", no_failed_runs=True)] == ["r08"]
