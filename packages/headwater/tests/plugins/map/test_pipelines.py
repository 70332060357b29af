"""The list of pipelines with their newest runs and upstream pipelines."""

from __future__ import annotations

from typing import Any

from headwater.plugins.map._pipelines import pipelines_answer


def test_pipelines_have_their_last_runs_and_listed_upstream_pipelines(build: Any) -> None:
    events = []
    for n in range(12):
        at = f"{n:02}:00:00"
        events += [
            build.run("COMPLETE", f"load{n}", "load", at, kind="AIRFLOW/DAG"),
            build.run(
                "COMPLETE", f"copy{n}", "load.copy", at, parent=(f"load{n}", "load"),
                kind="AIRFLOW/TASK", reads=("db|raw",), writes=("db|orders",),
            ),
        ]  # fmt: skip
    events += [
        build.run("FAIL", "sum", "sum", "13:00:00", reads=("db|orders",), writes=("db|sums",)),
        build.run("COMPLETE", "other", "other", "14:00:00", reads=("db|raw",)),
    ]
    state = build.state(*events)
    answer = pipelines_answer(state)
    rows = {row["name"]: row for row in answer["items"]}
    assert list(rows) == ["sum", "other", "load"]  # problems first, then the newest
    assert answer["total"] == 3
    assert rows["sum"]["upstream"] == ["job:demo:load"]
    assert rows["other"]["upstream"] == rows["load"]["upstream"] == []
    assert [run["runId"] for run in rows["load"]["runs"]] == [f"load{n}" for n in range(11, 1, -1)]
    assert rows["sum"]["runs"][0]["state"] == "FAILED"
    first = pipelines_answer(state, limit=1)
    assert [(row["name"], row["upstream"]) for row in first["items"]] == [("sum", [])]
    assert first["total"] == 3
