"""Sources of a table into which Spark merges rows without a SQL text, as with Delta's API."""

from __future__ import annotations

from typing import Any

from headwater.lineage.queries import tree_answer
from headwater.projection import State

_MERGE = "stream.execute_merge_into_command"


def _day(build: Any, day: int, change: str = _MERGE) -> list[dict[str, Any]]:
    """Return the events of an application that reads a new file and merges it into `t`."""
    parent = (f"app{day}", "stream")
    app = build.run("COMPLETE", parent[0], "stream", f"{day:02}:50:00", kind="SPARK/APPLICATION")
    read = build.run(
        "COMPLETE", f"r{day}", "stream.scan_json", f"{day:02}:10:00",
        reads=(f"db|file{day}",), parent=parent,
    )  # fmt: skip
    merge = build.run(
        "COMPLETE", f"m{day}", change, f"{day:02}:20:00",
        reads=("db|t",), writes=("db|t",), parent=parent,
    )  # fmt: skip
    return [app, read, merge]


def _sources(state: State) -> set[str]:
    tree = tree_answer(state, "db/t")["up"]
    return {item["name"] for job in tree["children"] for item in job["children"]}


def test_files_of_all_merges_are_upstream(build: Any) -> None:
    """The listener names no source of a MERGE that `foreachBatch` starts."""
    state = build.state(*_day(build, 1), *_day(build, 2))
    assert _sources(state) == {"t", "file1", "file2"}


def test_query_before_another_change_of_its_own_table_is_no_source(build: Any) -> None:
    state = build.state(*_day(build, 1, "stream.execute_update_command"))
    assert _sources(state) == {"t"}


def test_query_before_a_merge_with_a_text_is_no_source(build: Any) -> None:
    app, read, merge = _day(build, 1)
    merge["job"]["facets"]["sql"] = {"query": "merge into t using t s on t.id = s.id …"}
    assert _sources(build.state(app, read, merge)) == {"t"}
