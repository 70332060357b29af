"""Events of whole graphs, and graphs in short form, for several tests."""

from __future__ import annotations

from typing import Any

from headwater.lineage.queries import edges_answer

DAG, TASK = "AIRFLOW/DAG", "AIRFLOW/TASK"
FLOW, STEP = "METAFLOW/FLOW", "METAFLOW/STEP"
APP, SQL = "SPARK/APPLICATION", "SPARK/SQL_JOB"


def edges(state: Any, level: str) -> set[str]:
    marks = {"reads": "<", "writes": ">"}
    return {
        f"{edge['job']['name']} {marks[edge['direction']]} {edge['dataset']['name']}"
        for edge in edges_answer(state, level, "data")["items"]
    }


def two_orchestrators(build: Any) -> Any:
    """Return a DAG with a Spark task, and a task that starts a flow which also runs Spark."""
    dag, flow = ("d", "dag"), ("f", "Flow")
    load, step = ("t", "dag.load"), ("s", "Flow.train")
    app = {"parent": load, "root": dag, "kind": APP}
    step_app = {"parent": step, "root": dag, "kind": APP}
    return build.state(
        build.run("COMPLETE", "d", "dag", "08:30:00", kind=DAG),
        build.run("COMPLETE", "t", "dag.load", "08:10:00", parent=dag, root=dag, kind=TASK),
        build.run("COMPLETE", "a", "app", "08:09:00", **app),
        build.run(
            "COMPLETE", "q", "app.q", "08:08:00", parent=("a", "app"), root=dag, kind=SQL,
            reads=("file|/in",), writes=("hive|raw",),
        ),
        build.run("COMPLETE", "rf", "dag.run_flow", "08:29:00", parent=dag, root=dag, kind=TASK),
        build.run("COMPLETE", "f", "Flow", "08:28:00", parent=("rf", "dag.run_flow"), kind=FLOW),
        build.run(
            "COMPLETE", "s", "Flow.train", "08:27:00", parent=flow, root=dag, kind=STEP,
            writes=("metaflow|Flow/model",),
        ),
        build.run("COMPLETE", "b", "spark", "08:26:00", **step_app),
        build.run(
            "COMPLETE", "p", "spark.q", "08:25:00", parent=("b", "spark"), root=dag, kind=SQL,
            reads=("hive|raw",),
        ),
    )  # fmt: skip


def names(leaf: dict[str, Any]) -> Any:
    mark = "*" if leaf["isRepeated"] else "+" if leaf["hasMore"] else ""
    return {leaf["name"] + mark: [names(child) for child in leaf["children"]]}


def commit(run: dict[str, Any], added: int, total: int) -> dict[str, Any]:
    """Return the run with Iceberg's commit report on each output."""
    metrics = {"addedRecords": added, "totalRecords": total}
    for dataset in run["outputs"]:
        dataset["outputFacets"] = {"icebergCommitReport": {"commitMetrics": metrics}}
    return run


def loads(build: Any, *months: str, trained_with: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return monthly loads (staging replaced, raw appended), each followed by a training."""
    events = []
    for number, month in enumerate(months):
        dag, flow, hour = (f"d{number}", "dag"), (f"f{number}", "Flow"), f"1{number}"
        extra = f"db|{trained_with[number]}" if trained_with else "db|raw"
        events += [
            build.run("COMPLETE", f"a{number}", "dag.stage", f"{hour}:01:00", parent=dag,
                      kind=TASK, reads=(f"file|/{month}",), writes=("db|staging",)),
            commit(build.run("COMPLETE", f"b{number}", "dag.merge", f"{hour}:02:00", parent=dag,
                              kind=TASK, reads=("db|staging",), writes=("db|raw",)),
                    10, 10 * (number + 1)),
            build.run("COMPLETE", f"c{number}", "Flow.train", f"{hour}:03:00", parent=flow,
                      kind=STEP, reads=("db|raw", extra), writes=("mf|model",)),
            commit(build.run("COMPLETE", f"e{number}", "Flow.write", f"{hour}:04:00", parent=flow,
                              kind=STEP, reads=("mf|model",), writes=("db|forecast",)),
                    24, 24 * (number + 1)),
        ]  # fmt: skip
    return events


def all_names(leaf: dict[str, Any]) -> set[str]:
    return {leaf["name"]}.union(*(all_names(child) for child in leaf["children"]))


def scheduled(build: Any, hour: str, job: str) -> dict[str, Any]:
    """Return a run that a scheduler started at an hour."""
    nominal = {"nominalTime": {"nominalStartTime": f"2025-11-21T{hour}:00:00Z"}}
    event: dict[str, Any] = build.run("COMPLETE", hour, job, f"{hour}:00:00", facets=nominal)
    return event


def state_partition_sources(run: dict[str, Any]) -> None:
    """Let a run replace two partitions, each from an input of its own, or from a part of one."""
    names = [{key: item[key] for key in ("namespace", "name")} for item in run["inputs"]]
    parts: dict[str, list[Any]] = {"0": names[:1], "1": names[1:] or names}
    stated = [
        {
            "identifier": part,
            "inputs": [
                name | ({"partition": {"identifier": part}} if len(names) == 1 else {})
                for name in found
            ],
        }
        for part, found in parts.items()
    ]
    partitions = [{"identifier": part, "dimensions": {}} for part in parts]
    for item in run["outputs"]:
        item.setdefault("outputFacets", {}).update(
            subset={"outputCondition": {"type": "partition", "partitions": partitions}},
            headwater_partitionSources={"partitions": stated},
        )
