"""Scripts that read what they wrote themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headwater.lineage.queries import tree_answer
from headwater.log import EventLog, entry_of
from headwater.projection.live import Batch, Live
from headwater_client.stated import stated_sources

Edges = dict[str, set[str]]
"""The datasets from which a job writes into each dataset, without their folder."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Edges]:
    """Return a function that runs a script and returns all edges between datasets."""
    monkeypatch.setenv("HEADWATER_SPOOL", str(tmp_path / "spool"))

    def run(script: str, *arguments: str) -> Edges:
        (tmp_path / "etl.py").write_text(_IMPORTS + script)
        command = "from headwater_client.main import main; main()"
        words = [sys.executable, "-c", command, "run", "--", sys.executable, "etl.py", *arguments]
        subprocess.run(words, cwd=tmp_path, check=True)
        return edges(tmp_path)

    return run


_IMPORTS = """
import sqlite3
import sys
import duckdb
import pandas as pd
"""


def lines(folder: Path) -> list[bytes]:
    files = sorted(folder.glob("spool/*.jsonl"))
    return [line for file in files for line in file.read_bytes().splitlines()]


def edges(folder: Path) -> Edges:
    """Return the sources of each dataset in any of the server's trees."""
    log = EventLog("sqlite://")
    live = Live(log)
    live.ingest(Batch([entry_of(line) for line in lines(folder)]))
    found: Edges = defaultdict(set)
    with live.reading() as state:
        for name in state.datasets:
            _add_edges(short(name.name), tree_answer(state, name.name)["up"]["children"], found)
    log.close()
    return dict(found)


def _add_edges(target: str, nodes: list[Any], found: Edges) -> None:
    for node in nodes:
        name = target
        if node["type"] == "dataset":
            name = short(node["name"])
            found[target].add(name)
        _add_edges(name, node["children"], found)


def short(name: str) -> str:
    """Return a name without the folder."""
    return name.rpartition("/")[2]


def completed(folder: Path) -> Any:
    """Return the end event of the newest run of the script."""
    events = [json.loads(line) for line in lines(folder)]
    ends = [e for e in events if e["job"]["name"] == "etl" and e["eventType"] == "COMPLETE"]
    return ends[-1]


_PANDAS = """
pd.DataFrame({"a": [1], "b": [2]}).to_csv("p1.csv", index=False)
pd.DataFrame({"c": [1]}).to_csv("p2.csv", index=False)
x, y = pd.read_csv("p1.csv"), pd.read_csv("p2.csv")
s = sqlite3.connect("s.db")
x.to_sql("ta", s, if_exists="replace", index=False)
y.to_sql("tb", s, if_exists="append", index=False)
pd.read_sql("select a from ta", s).to_parquet("za.parquet")
"""


@pytest.mark.server
def test_tables_and_files_of_pandas_have_their_own_sources(run: Any) -> None:
    assert run(_PANDAS) == {"ta": {"p1.csv"}, "tb": {"p2.csv"}, "za.parquet": {"ta"}}


_DUCKDB = """
pd.DataFrame({"a": [1]}).to_csv("in.csv", index=False)
db = duckdb.connect("w.duckdb")
db.execute("create or replace table raw as select * from read_csv('in.csv')")
db.execute("create or replace table agg as select sum(a) as s from raw")
db.execute("copy agg to 'out.csv'")
"""


@pytest.mark.server
def test_queries_of_own_files_are_no_cycle(run: Any, tmp_path: Path) -> None:
    chain = {"w.main.raw": {"in.csv"}, "w.main.agg": {"w.main.raw"}, "out.csv": {"w.main.agg"}}
    assert run(_DUCKDB) == chain
    event = completed(tmp_path)
    assert event["inputs"] == []
    assert len(event["job"]["facets"]["lineage"]["entries"]) == 4
    assert run(_DUCKDB) == chain


_STAGES = """
for source, name in zip(sys.argv[1:], "ab"):
    pd.read_csv(source).to_parquet(f"stage_{name}.parquet")
for _, name in zip(sys.argv[1:], "ab"):
    # Not by pandas: a process that read Parquet through Arrow may abort at its end (arrow#34314).
    staged = duckdb.sql(f"select * from 'stage_{name}.parquet'").df()
    staged.to_csv(f"final_{name}.csv", index=False)
"""


@pytest.mark.server
def test_staged_files_feed_only_what_was_read_from_them(run: Any, tmp_path: Path) -> None:
    for name in "1234":
        (tmp_path / f"p{name}.csv").write_text("a\n1\n")
    assert run(_STAGES, "p1.csv", "p2.csv") == {
        "stage_a.parquet": {"p1.csv"},
        "stage_b.parquet": {"p2.csv"},
        "final_a.csv": {"stage_a.parquet"},
        "final_b.csv": {"stage_b.parquet"},
    }
    assert [short(item["name"]) for item in completed(tmp_path)["inputs"]] == [
        "p1.csv",
        "p2.csv",
    ]
    # The files of the next day replace those of this one.
    assert run(_STAGES, "p3.csv", "p4.csv") == {
        "stage_a.parquet": {"p3.csv"},
        "stage_b.parquet": {"p4.csv"},
        "final_a.csv": {"stage_a.parquet"},
        "final_b.csv": {"stage_b.parquet"},
    }


_CHANGED = """
pd.DataFrame({"k": [1]}).to_csv("g1.csv", index=False)
pd.DataFrame({"k": [1]}).to_csv("g2.csv", index=False)
frame = pd.read_csv("g1.csv")
(frame + 1).to_parquet("g1.parquet")
frame.to_csv("same.csv")
pd.read_csv("g2.csv")
(frame + 1).to_csv("g1.csv", index=False)
"""


@pytest.mark.server
def test_changed_frame_may_come_from_files_read_back_before(run: Any, tmp_path: Path) -> None:
    assert run(_CHANGED) == {
        "g1.parquet": {"g1.csv"},
        "same.csv": {"g1.csv"},
        "g1.csv": {"g2.csv"},  # possible; its own former rows are no other dataset
    }
    marked = {
        facet: {short(o["name"]) for o in completed(tmp_path)["outputs"] if facet in o["facets"]}
        for facet in ("headwater_coarseLineage", "headwater_readBack")
    }
    assert marked == {
        "headwater_coarseLineage": {"g1.parquet", "g1.csv"},
        "headwater_readBack": {"g1.csv", "g2.csv"},
    }


_REPLACED = """
s = sqlite3.connect("s.db")
pd.read_csv(sys.argv[1]).to_sql("stage", s, if_exists="replace", index=False)
pd.read_sql("select a from stage", s).to_parquet("all.parquet")
pd.read_csv(sys.argv[1]).to_csv("stage.csv", index=False)
duckdb.sql("select a from 'stage.csv'").df().to_parquet("some.parquet")
"""


@pytest.mark.server
def test_replaced_data_has_no_rows_of_the_day_before(run: Any, tmp_path: Path) -> None:
    for name in "12":
        (tmp_path / f"p{name}.csv").write_text("a\n1\n")
    run(_REPLACED, "p1.csv")
    assert run(_REPLACED, "p2.csv") == {
        "stage": {"p2.csv"},
        "all.parquet": {"stage"},
        "stage.csv": {"p2.csv"},
        "some.parquet": {"stage.csv"},
    }


_APPENDED = """
s = sqlite3.connect("s.db")
pd.read_csv(sys.argv[1]).to_sql("log", s, if_exists="append", index=False)
pd.read_sql("select a from log", s).to_parquet("all.parquet")
"""


@pytest.mark.server
def test_appended_table_is_not_marked_as_replaced(run: Any, tmp_path: Path) -> None:
    (tmp_path / "p1.csv").write_text("a\n1\n")
    assert run(_APPENDED, "p1.csv") == {"log": {"p1.csv"}, "all.parquet": {"log"}}
    assert not any("headwater_readBack" in o["facets"] for o in completed(tmp_path)["outputs"])


def test_run_without_inputs_states_that_outputs_have_no_sources() -> None:
    a, b = ("n", "a"), ("n", "b")
    assert stated_sources([], [(a, ()), (b, None)]) == {a: [], b: []}
    assert stated_sources([], [(a, None), (b, None)]) == {}
    assert stated_sources([], [(a, ()), (b, None)], read_back=[a, b]) == {a: [], b: [a]}
