"""Lineage as Parquet tables, and their description in docs/reference/parquet.md."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.plugins.export._parquet import COLUMNS, type_of
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.generated_docs import check_written, table


def test_exported_tables_join_on_displayed_names(tmp_path: Path, build: Any, call: Call) -> None:
    from pyarrow import parquet

    event = build.run("COMPLETE", "1", "j", "08:01:30", parent=("0", "dag"))
    fields = {"n": {"inputFields": [
        {"namespace": "file", "name": "/w/t", "field": "m", "transformations": [
            {"type": "DIRECT", "subtype": "IDENTITY"}, {"type": "INDIRECT", "subtype": "SORT"}]},
        "junk",
    ]}, "junk": 7}  # fmt: skip
    event["inputs"] = [build.dataset("file|/w/t", symlinks=[("hive://h", "db.t", "TABLE")])]
    event["outputs"] = [build.dataset("hive://h|db.u", columnLineage={"fields": fields})]
    start = build.run("START", "1", "j", "08:00:00", parent=("0", "dag"))
    events, log = tmp_path / "events.json", ("--database", str(tmp_path / "log.db"))
    events.write_bytes(orjson.dumps([start, event]))
    call("ingest", str(events), *log)
    folder = tmp_path / "tables"
    for _ in range(2):  # what was there is replaced
        output = call("export", "--format", "parquet", "--output", str(folder), *log).stdout
    assert f"{folder / 'events'}.parquet  2 rows" in output
    tables = {path.stem: parquet.read_table(path).to_pylist() for path in folder.iterdir()}
    assert set(tables) == COLUMNS.keys()
    assert orjson.loads(tables["events"][0]["body"]) == start
    run = {item["run_id"]: item for item in tables["runs"]}["1"]
    assert (run["duration_ms"], run["parent_run_id"], run["state"]) == (90_000, "0", "COMPLETED")
    assert run["started_at"].isoformat() == "2025-11-21T08:00:00+00:00"
    known = {(n["level"], n["namespace"], n["name"]) for n in tables["nodes"]}
    for side in ("job", "dataset"):
        named = {(e["level"], e[f"{side}_namespace"], e[f"{side}_name"]) for e in tables["edges"]}
        assert named <= known
    names = {(e["dataset_namespace"], e["dataset_name"], e["direction"]) for e in tables["edges"]}
    assert names == {("hive://h", "db.t", "reads"), ("hive://h", "db.u", "writes")}
    columns = [list(column.values())[3:] for column in tables["columns"]]
    assert columns == [
        ["hive://h", "db.u", "n", "hive://h", "db.t", "m", "DIRECT", "IDENTITY"],
        ["hive://h", "db.u", "n", "hive://h", "db.t", "m", "INDIRECT", "SORT"],
    ]


def test_parquet_error_names_missing_folder_or_library(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ("--database", str(tmp_path / "log.db"))
    assert "requires --output" in call("export", "--format", "parquet", *log).stderr
    assert "requires --output" in call("export", "--output", str(tmp_path), *log).stderr
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = call("export", "--format", "parquet", "--output", str(tmp_path / "new"), *log)
    assert (result.returncode, "headwater[parquet]" in result.stderr) == (2, True)
    assert not (tmp_path / "new").exists()


def test_exported_nodes_and_effective_runs_match_the_graph(
    tmp_path: Path, build: Any, call: Call
) -> None:
    from pyarrow import parquet

    task = {"parent": ("d", "dag"), "kind": "AIRFLOW/TASK"}
    load = [
        build.run("COMPLETE", f"t{n}", "dag.load", f"0{n}:00:00", writes=("db|t",), **task)
        for n in (7, 8)
    ]
    load[1]["outputs"] = [
        build.dataset("db|t", ownership={"owners": [{"name": "ann"}, {"name": "bob"}]},
                      symlinks=[("hive://h", "t", "TABLE")])
    ]  # fmt: skip
    load[1]["run"]["facets"]["parent"]["run"]["runId"] = "d2"
    dag = [
        build.run("COMPLETE", run, "dag", f"0{n}:30:00", kind="AIRFLOW/DAG")
        for n, run in ((7, "d"), (8, "d2"))
    ]
    events, folder = tmp_path / "events.json", tmp_path / "tables"
    change = {"lifecycleStateChange": "TRUNCATE"}
    empty = {
        "eventTime": "2025-11-21T09:00:00Z",
        "producer": "https://example.org/catalog",
        "dataset": build.dataset("db|t", lifecycleStateChange=change),
    }
    at = datetime(2025, 11, 21, 9, tzinfo=UTC)
    events.write_bytes(orjson.dumps([*load, *dag, empty]))
    log = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(events), *log)
    call("export", "--format", "parquet", "--output", str(folder), *log)
    nodes = parquet.read_table(folder / "nodes.parquet").to_pylist()
    of_tasks = [list(node.values())[1:] for node in nodes if node["level"] == "task"]
    assert of_tasks == [
        ["dataset", "hive://h", "t", ["ann", "bob"], ["db:t"], None, "emptied", at],
        ["job", "demo", "dag.load", [], [], "t8", None, None],
    ]
    runs = parquet.read_table(folder / "present_runs.parquet").to_pylist()
    counted = {(run["level"], run["run_id"], run["job_name"], run["state"]) for run in runs}
    assert counted == {
        ("pipeline", "d2", "dag", "COMPLETED"),
        ("task", "t8", "dag.load", "COMPLETED"),
        ("query", "t8", "dag.load", "COMPLETED"),
    }
    assert len(parquet.read_table(folder / "runs.parquet")) == 4


_ROWS = {
    "events": "An event as received.",
    "runs": "A run.",
    "nodes": "A job or dataset of the current graph at a level.",
    "edges": "A read or write of a dataset by a job, in the current graph at a level.",
    "direct_edges": "A direct edge between two jobs, two datasets, or a job and a dataset.",
    "present_runs": "A run that determines the current graph at a level.",
    "columns": "A reported column edge: an output column, an input column and a transformation.",
}
_MEANS = {
    "event_at": "`eventTime`",
    "event_type": "START, RUNNING, COMPLETE, FAIL, ABORT, OTHER; null for an event without a run",
    "run_id": "the id of the run; for a node, the newest run that the job's edges come from",
    "job_namespace": "the namespace of the job",
    "job_name": "the name of the job",
    "producer": "the event's `producer`",
    "body": "the whole event as JSON",
    "state": "NEW, RUNNING, COMPLETED, FAILED, ABORTED; in `present_runs` also LOST (no end event)",
    "started_at": "the start time",
    "ended_at": "the end time; null before the end",
    "duration_ms": "milliseconds between start and end",
    "parent_run_id": "the id of the parent run",
    "level": "pipeline, task or query. The table contains all levels: filter by one",
    "node_type": "job or dataset",
    "namespace": "the namespace of the node",
    "name": "the name of the node",
    "to_node_type": "job or dataset, the same as `node_type`",
    "to_namespace": "the namespace of the downstream node",
    "to_name": "the name of the downstream node",
    "owner_names": "the owners in ownership facets",
    "alias_names": "the aliases of a dataset, as `NAMESPACE:NAME`",
    "removal": "dropped, emptied or renamed, if the dataset was not written since",
    "removed_at": "the time of the removal",
    "direction": "reads or writes",
    "dataset_namespace": "the namespace of the dataset",
    "dataset_name": "the name of the dataset",
    "column": "the output column",
    "input_namespace": "the namespace of the input dataset",
    "input_name": "the name of the input dataset",
    "input_column": "the input column",
    "transformation_type": "DIRECT, INDIRECT, or null if not reported",
    "transformation_subtype": "IDENTITY, TRANSFORMATION, AGGREGATION, JOIN, FILTER, ...",
}
_PAGE = """# Lineage as Parquet tables

`headwater export --format parquet --output FOLDER` writes the lineage as tables for Spark, DuckDB
or pandas, one file per table. It requires the extra `parquet`. Each file is replaced atomically: a
reader sees the old or the new table. All tables use the same name for a dataset with aliases, so
they can be joined.

```python
for table in ("nodes", "edges", "direct_edges", "present_runs", "columns", "runs", "events"):
    spark.read.parquet(f"{folder}/{table}.parquet").createOrReplaceTempView(table)
spark.sql(\"\"\"
    SELECT n.name, count(*) AS readers
    FROM edges e JOIN nodes n
      ON n.level = e.level AND n.namespace = e.dataset_namespace AND n.name = e.dataset_name
    WHERE e.level = 'task' AND e.direction = 'reads' AND size(n.owner_names) = 0
    GROUP BY n.name ORDER BY readers DESC
\"\"\")  # the most used datasets without an owner
```
"""


def test_every_table_and_column_is_described() -> None:
    assert COLUMNS.keys() == _ROWS.keys()
    assert {column for columns in COLUMNS.values() for column in columns} == _MEANS.keys()
    parts = [
        f"\n## {name}\n\n{_ROWS[name]}\n\n"
        + table(("column", "type", "meaning"), [(f"`{c}`", type_of(c), _MEANS[c]) for c in columns])
        for name, columns in COLUMNS.items()
    ]
    check_written("docs/reference/parquet.md", _PAGE + "".join(parts))
