"""Reads and writes of real libraries, recorded without a declaration."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import boto3
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from moto import mock_aws
from pyiceberg.catalog import load_catalog
from sqlalchemy import create_engine, text

from headwater.log import EventLog, entry_of
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, load_queries
from headwater_client import lineage, track
from headwater_client.capture import Capture, capturing, origin_of, paused
from headwater_client.capture._duckdb import _attached


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with u.csv, v.parquet and s.db."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    frame.to_csv("u.csv", index=False)
    frame.to_parquet("v.parquet")
    frame.to_parquet("z.parquet")
    with sqlite3.connect("s.db") as database:
        database.execute("CREATE TABLE rates (a int)")
    database.close()
    return tmp_path


def short(folder: Path, name: str) -> str:
    return name.removeprefix(f"{folder}/")


def recorded(capture: Capture, folder: Path) -> tuple[set[str], dict[str, Any]]:
    """Return the names that were read, and the sources of those that were written."""
    written = {
        short(folder, item.name): item.sources and {short(folder, n) for _, n in item.sources}
        for item in capture.writes
    }
    return {short(folder, item.name) for item in capture.reads}, written


def read_pandas() -> None:
    pd.read_csv("u.csv").to_parquet("o")


def read_open_file() -> None:
    with open("u.csv") as file:
        pd.read_csv(file).to_csv("o")


def read_through_pyarrow() -> None:
    pd.read_parquet("v.parquet").to_parquet("o", engine="pyarrow", partition_cols=["a"])


def read_polars() -> None:
    pl.read_csv("u.csv").write_parquet("o")


def scan_polars() -> None:
    pl.scan_parquet("v.parquet").collect().write_csv("o")


def sink_polars() -> None:
    pl.scan_parquet("v.parquet").sink_csv("o")


def read_pyarrow() -> None:
    pq.write_table(pq.read_table("v.parquet"), "o")


def read_pyarrow_csv() -> None:
    pa.csv.write_csv(pa.csv.read_csv("u.csv"), "o")


def read_pyarrow_dataset() -> None:
    pa.dataset.write_dataset(pa.dataset.dataset("v.parquet"), "o", format="parquet")


def query_file_duckdb() -> None:
    duckdb.sql("SELECT * FROM 'v.parquet'").write_csv("o")


def query_variable_duckdb() -> None:
    frame = pd.read_csv("u.csv")
    assert len(frame) == 2
    duckdb.sql("SELECT a FROM frame").df().to_csv("o")


def query_variable_of_connection() -> None:
    frame = pl.read_csv("u.csv")
    assert len(frame) == 2
    with duckdb.connect() as connection:
        connection.execute("SELECT * FROM frame").df().to_csv("o")


def copy_duckdb() -> None:
    duckdb.execute("COPY (SELECT * FROM read_csv('u.csv')) TO 'o' (FORMAT parquet)")


def read_duckdb() -> None:
    duckdb.read_csv("u.csv").to_parquet("o")


def changed_pandas() -> None:
    frame = pd.read_csv("u.csv")
    frame["z"] = 1
    frame.to_csv("o")


def changed_values_pandas() -> None:
    frame = pd.read_csv("u.csv")
    frame.loc[0, "a"] = 7
    frame.to_csv("o")


def replaced_values_pandas() -> None:
    frame = pd.read_csv("u.csv")
    frame.replace(1, 7, inplace=True)
    frame.to_csv("o")


def values_in_new_frame() -> None:
    frame = pd.read_csv("u.csv")
    pd.DataFrame(frame.to_numpy(), columns=frame.columns).to_csv("o")


def changed_by_numpy() -> None:
    frame = pd.read_csv("u.csv")
    frame["a"].values[:] = pd.read_parquet("v.parquet")["a"].values
    frame.to_csv("o")


def changed_view() -> None:
    frame = pd.read_csv("u.csv", usecols=["a"])
    np.asarray(frame)[0] = 7
    frame.to_csv("o")


def changed_nullable() -> None:
    frame = pd.read_csv("u.csv", dtype_backend="numpy_nullable")
    frame["a"].array[0] = 7
    frame.to_csv("o")


def changed_series() -> None:
    frame = pd.read_csv("u.csv")
    with pd.option_context("mode.chained_assignment", None):
        frame["a"][0] = 7
    frame.to_csv("o")


def added_in_place() -> None:
    frame = pd.read_csv("u.csv")
    series = frame["a"]
    series += 1
    frame.to_csv("o")


def array_in_duckdb() -> None:
    numbers = pd.read_csv("u.csv")["a"].to_numpy()
    assert len(numbers) == 2
    duckdb.execute("COPY (SELECT * FROM numbers) TO 'o' (FORMAT parquet)")


def array_beside_file_in_duckdb() -> None:
    arrays = {"a": pd.read_csv("u.csv")["a"].to_numpy()}
    assert len(arrays) == 1
    duckdb.execute("COPY (SELECT v.a FROM arrays, 'v.parquet' v) TO 'o' (FORMAT parquet)")


def memory_beside_file_in_duckdb() -> None:
    with duckdb.connect() as memory:
        memory.execute("CREATE TABLE m AS FROM 'u.csv'")
        memory.execute("COPY (SELECT v.a FROM m, 'v.parquet' v) TO 'o' (FORMAT parquet)")


def registered_beside_file_in_duckdb() -> None:
    with duckdb.connect() as memory:
        memory.register("r", pd.read_csv("u.csv"))
        memory.sql("SELECT v.a FROM r, 'v.parquet' v").write_csv("o")


def changed_after_register_in_duckdb() -> None:
    with duckdb.connect("w.duckdb") as database:
        frame = pd.read_csv("u.csv")
        database.register("r", frame)
        frame.loc[0, "a"] = pd.read_parquet("v.parquet")["a"].max()
        database.sql("SELECT * FROM r").write_csv("o")


def temporary_in_duckdb() -> None:
    with duckdb.connect("w.duckdb") as database:
        database.execute("CREATE TEMP TABLE t AS SELECT * FROM 'u.csv'")
        database.execute("CREATE TEMP VIEW w AS SELECT * FROM 'v.parquet'")
        database.sql("WITH c AS (FROM w) SELECT t.a FROM t JOIN c USING (a)").write_csv("o")
        database.execute("DROP VIEW w; DROP TABLE IF EXISTS t")


def filled_temporary_in_duckdb() -> None:
    with duckdb.connect("w.duckdb") as database:
        database.execute("CREATE TEMP TABLE t (a int, b text)")
        database.execute("INSERT INTO t SELECT * FROM 'u.csv'")
        database.execute("INSERT INTO temp.t SELECT * FROM 'v.parquet'")
        database.execute("COPY temp.main.t TO 'o' (FORMAT parquet)")


def unknown_temporary_in_duckdb() -> None:
    with duckdb.connect("w.duckdb") as database:
        values = pd.read_csv("u.csv")["a"].tolist()
        database.execute("CREATE TEMP TABLE t (a int)")
        database.executemany("INSERT INTO t VALUES (?)", [[value] for value in values])
        database.execute("COPY (SELECT t.a FROM t, 'v.parquet') TO 'o' (FORMAT parquet)")


def copied_columns() -> None:
    pd.read_csv("u.csv").describe().to_csv("o")


def compared_and_written() -> None:
    frame = pd.read_csv("u.csv")
    assert frame.describe().shape
    frame.sort_values("a").groupby("a").sum()
    frame.to_csv("o")


def changed_polars() -> None:
    frame = pl.read_csv("u.csv")
    frame.extend(frame)
    frame.write_csv("o")


def joined_pandas() -> None:
    pd.read_csv("u.csv").merge(pd.read_parquet("v.parquet")).to_csv("o")


@pytest.mark.parametrize(
    ("work", "source", "is_exact"),
    [
        *((work, "u.csv", True) for work in (read_pandas, read_open_file, read_polars)),
        *((work, "v.parquet", True) for work in (read_through_pyarrow, scan_polars, sink_polars)),
        *((work, "v.parquet", True) for work in (read_pyarrow, read_pyarrow_dataset)),
        *((work, "u.csv", True) for work in (read_pyarrow_csv, copy_duckdb, read_duckdb)),
        (query_file_duckdb, "v.parquet", True),
        *((w, "u.csv", True) for w in (query_variable_duckdb, query_variable_of_connection)),
        *((work, "u.csv", False) for work in (changed_pandas, changed_values_pandas)),
        *((work, "u.csv", False) for work in (replaced_values_pandas, changed_polars)),
        (joined_pandas, "u.csv v.parquet", False),
        *((work, "u.csv", False) for work in (values_in_new_frame, changed_view, changed_series)),
        *((w, "u.csv", False) for w in (changed_nullable, added_in_place, copied_columns)),
        (compared_and_written, "u.csv", True),
        (changed_by_numpy, "u.csv v.parquet", False),
        (array_in_duckdb, "u.csv", False),
        *(
            (work, "u.csv v.parquet", True)
            for work in (
                registered_beside_file_in_duckdb,
                temporary_in_duckdb,
                filled_temporary_in_duckdb,
            )
        ),
        *(
            (work, "u.csv v.parquet", False)
            for work in (
                array_beside_file_in_duckdb,
                memory_beside_file_in_duckdb,
                unknown_temporary_in_duckdb,
                changed_after_register_in_duckdb,
            )
        ),
    ],
)
def test_reads_and_writes_of_files(work: Any, source: str, is_exact: bool, folder: Path) -> None:
    """A write has exact sources only if it writes the object that was read, unchanged."""
    with capturing(Capture()) as capture:
        work()
    reads, writes = recorded(capture, folder)
    assert reads == set(source.split())
    assert writes == {"o": set(source.split()) if is_exact else None}


def test_columns_are_recorded_unless_only_some_were_read(folder: Path) -> None:
    with capturing(Capture()) as capture:
        pd.read_csv("u.csv")
        pl.read_parquet("v.parquet", columns=["a"])
        pd.read_parquet("v.parquet", columns=["a"])
    columns = {short(folder, item.name): item.fields for item in capture.reads}
    assert columns == {"u.csv": (("a", "int64"), ("b", columns["u.csv"][1][1])), "v.parquet": ()}


@pytest.mark.parametrize("is_frame_first", [True, False])
@pytest.mark.parametrize("query", ["FROM 'u.csv'", "CREATE TABLE k AS FROM 'u.csv'"])
def test_columns_of_a_file_that_a_query_reads_too(
    query: str, is_frame_first: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_SPOOL", "spool")
    with duckdb.connect("w.duckdb") as database, track("both"):
        works = [lambda: pd.read_csv("u.csv"), lambda: database.execute(query)]
        for work in works if is_frame_first else reversed(works):
            work()
    (end,) = [
        e for e in events("spool") if (e["job"]["name"], e["eventType"]) == ("both", "COMPLETE")
    ]
    (source,) = end["inputs"]
    assert [field["name"] for field in source["facets"]["schema"]["fields"]] == ["a", "b"]


def test_tables_of_databases(folder: Path) -> None:
    engine = create_engine("sqlite:///s.db")
    database = f"sqlite://{folder}/s.db"
    with capturing(Capture()) as capture:
        users = pd.read_csv("u.csv")
        users.to_sql("users", engine, index=False)
        with engine.begin() as connection:
            connection.execute(text("INSERT INTO rates SELECT a FROM users"))
        for frame in (
            pd.read_sql("SELECT * FROM rates", engine),
            pd.read_sql_table("rates", engine),
            pl.read_database("SELECT a FROM rates", engine),
        ):
            assert origin_of(frame) == ((database, "rates"),)
        with sqlite3.connect("s.db") as connection:
            pd.read_sql("SELECT a FROM rates r", connection)
        connection.close()
    engine.dispose()
    reads, writes = recorded(capture, folder)
    assert reads == {"u.csv"}  # the tables were written before
    assert writes == {"users": {"u.csv"}, "rates": {"users"}}
    assert {item.namespace for item in capture.writes} == {database}
    inputs = {short(folder, item.name) for item in capture.reads}
    (rates,) = [item for item in capture.writes if item.name == "rates"]
    users = capture.sources_of(rates, {("file", f"{folder}/u.csv")})
    assert inputs == {short(folder, name) for _, name in users or ()}


def test_data_through_tables_that_are_no_datasets(folder: Path) -> None:
    """A temporary table stands for its sources; a table read into an array has unknown readers."""
    engine = create_engine("sqlite:///s.db")
    with capturing(Capture()) as capture:
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE k AS SELECT a FROM rates"))
            connection.execute(text("CREATE TEMP TABLE t AS SELECT a FROM k"))
            connection.execute(text("CREATE TABLE o AS SELECT t.a FROM t JOIN k ON t.a = k.a"))
            pd.read_sql("SELECT t.a FROM t, k", connection).to_csv("p.csv")
        array = pd.read_sql("SELECT a FROM k", engine).to_numpy()
        pd.DataFrame(array).to_csv("q.csv")
    engine.dispose()
    sources = {"k": {"rates"}, "o": {"k"}, "p.csv": {"k"}, "q.csv": None}
    assert recorded(capture, folder) == ({"rates"}, sources)
    assert capture.consumed == []


def test_tables_of_duckdb_files_but_not_of_memory(folder: Path) -> None:
    with capturing(Capture()) as capture, duckdb.connect() as memory:
        memory.execute("CREATE TABLE m AS FROM 'u.csv'")
        memory.execute("ATTACH 'w.duckdb' AS w; CREATE TABLE w.k AS FROM m; USE w")
        memory.sql("SELECT * FROM k").fetchall()
    reads, writes = recorded(capture, folder)
    assert (reads, set(writes)) == ({"u.csv"}, {"w.main.k"})
    assert capture.writes[0].namespace == f"duckdb://{folder}/w.duckdb"


def test_attached_databases_of_duckdb(folder: Path) -> None:
    """A table is named after its file, regardless of the name in the connection."""
    with capturing(Capture()) as capture, duckdb.connect("w.duckdb") as database:
        database.execute("CREATE TABLE k AS FROM 'u.csv'")
        database.execute("ATTACH 'other.duckdb' AS o")
        database.execute("CREATE TABLE o.l AS FROM k")
        database.execute("USE o; CREATE TABLE m AS SELECT * FROM w.k")
        database.execute("CREATE SCHEMA s")
        database.execute("USE o.s")
        database.execute("CREATE TABLE n AS SELECT * FROM o.main.m")
        database.execute("USE w; DETACH o; ATTACH 'third.duckdb' AS o")
        database.executemany("INSERT INTO k VALUES (?, ?)", [[1, "x"]])
        database.execute("SET schema = 'main'")
        database.execute("CREATE TABLE q AS SELECT 1 a")
    names = {(Path(item.namespace).name, item.name): item.sources for item in capture.writes}
    assert {key: value and [name for _, name in value] for key, value in names.items()} == {
        ("w.duckdb", "w.main.k"): None,
        ("other.duckdb", "other.main.l"): ["w.main.k"],
        ("other.duckdb", "other.main.m"): ["w.main.k"],
        ("other.duckdb", "other.s.n"): ["other.main.m"],
    }
    assert [query.is_readable for query in capture.queries if "CREATE" in query.sql] == [False] * 4


def test_temporary_tables_of_duckdb_from_before(folder: Path) -> None:
    """The sources of these tables are unknown; appended rows have the sources of their frame."""
    with duckdb.connect("w.duckdb") as database:
        database.execute("CREATE TABLE k AS FROM 'u.csv'")
        database.execute("CREATE VIEW l AS FROM k")
        database.execute("CREATE TEMP TABLE t AS FROM k")
        database.register("r", pd.DataFrame({"a": [1]}))
        with capturing(Capture()) as capture:
            database.execute("BEGIN; CREATE TABLE n (a int); INSERT INTO n SELECT a FROM l")
            database.execute("COPY (SELECT a FROM N JOIN K USING (a)) TO 'p' (FORMAT csv)")
            database.execute("COPY (SELECT a FROM t JOIN k USING (a)) TO 'q' (FORMAT csv)")
            database.execute("COPY (SELECT a FROM r JOIN k USING (a)) TO 's' (FORMAT csv)")
            database.append("k", pd.read_csv("u.csv"))
    reads, writes = recorded(capture, folder)
    assert reads == {"w.main.k", "w.main.l", "u.csv"}
    assert writes == {
        "w.main.n": {"w.main.l"},
        "p": {"w.main.n", "w.main.k"},
        "q": None,
        "s": None,
        "w.main.k": {"u.csv"},
    }


def test_attached_files_of_sqlite_in_duckdb(folder: Path) -> None:
    database = _attached("s.db", "sqlite")
    assert database
    assert database.table(("rates",)) == (f"sqlite://{folder}/s.db", "rates")
    assert _attached("dbname=shop host=db", "postgres") is None


def test_temporary_tables_of_sqlite(folder: Path) -> None:
    """A driver without hooks creates the tables, so their sources are unknown."""
    with capturing(Capture()) as capture, sqlite3.connect("s.db") as connection:
        connection.execute("ATTACH 'other.db' AS o")
        connection.execute("CREATE TEMP TABLE t AS SELECT a FROM rates")
        connection.execute("CREATE TABLE o.t2 AS SELECT a FROM rates")
        frame = pd.read_sql("SELECT t.a FROM t JOIN rates USING (a)", connection)
        frame.to_csv("o")
        pd.read_sql("SELECT a FROM temp.t", connection)
        pd.read_sql("SELECT a FROM o.t2", connection)
    connection.close()
    names = {(Path(item.namespace).name, item.name) for item in capture.reads}
    assert names == {("s.db", "rates"), ("other.db", "t2")}
    assert recorded(capture, folder)[1] == {"o": None}


def test_iceberg_tables_have_snapshots_and_no_files(folder: Path) -> None:
    settings = {"uri": f"sqlite:///{folder}/cat.db", "warehouse": f"file://{folder}/wh"}
    catalog = load_catalog("c", type="sql", **settings)
    catalog.create_namespace("nyc")
    rows = pq.read_table("v.parquet")
    table = catalog.create_table("nyc.trips", rows.schema)
    table.append(rows)
    first = table.current_snapshot()
    with capturing(Capture()) as capture:
        scanned = table.scan().to_arrow()
        table.overwrite(scanned)
        table.append(pq.read_table("v.parquet"))
    last = table.current_snapshot()
    catalog.close()
    assert first
    assert last
    assert recorded(capture, folder)[0] == {"wh/nyc/trips", "v.parquet"}
    versions = {item.version: item.sources for item in capture.writes}
    trips, parquet = ("file", f"{folder}/wh/nyc/trips"), ("file", f"{folder}/v.parquet")
    assert list(versions.values()) == [(trips,), (parquet,)]
    assert str(last.snapshot_id) in versions
    (read,) = [item for item in capture.reads if item.key == trips]
    assert (read.version, read.fields[0][0]) == (str(first.snapshot_id), "a")


def test_functions_and_blocks_report_what_they_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_SPOOL", "spool")

    @lineage(job="copy")
    def copy() -> None:
        pd.read_csv("u.csv").to_csv("o.csv")

    @lineage(job="other", capture=False)
    def other() -> None:
        pd.read_csv("u.csv")

    with track("daily") as captured, ThreadPoolExecutor(2) as pool:
        copy()
        other()
        list(pool.map(pd.read_parquet, ["v.parquet"] * 3))
        duckdb.connect("w.duckdb").execute("CREATE TABLE k AS FROM 'v.parquet'").close()
        frame = pd.read_csv("u.csv")
        frame.to_csv("p.csv")
        frame.describe().to_csv("q.csv")
    assert recorded(captured, folder) == (
        {"v.parquet", "u.csv"},
        {"w.main.k": {"v.parquet"}, "p.csv": {"u.csv"}, "q.csv": None},
    )
    ends = {
        event["job"]["name"]: event for event in events("spool") if event["eventType"] != "START"
    }
    names = {
        job.partition("_")[0]: [
            {short(folder, item["name"]) for item in event[side]} for side in ("inputs", "outputs")
        ]
        for job, event in ends.items()
    }
    assert names == {
        "copy": [{"u.csv"}, {"o.csv"}],
        "other": [set(), set()],
        "daily": [{"v.parquet", "u.csv"}, {"w.main.k", "p.csv", "q.csv"}],
        "daily.query": [{"v.parquet"}, {"w.main.k"}],
    }
    (daily,) = [event for job, event in ends.items() if job == "daily"]
    stated = {
        short(folder, entry["name"]): [short(folder, item["name"]) for item in entry["inputs"]]
        for entry in daily["job"]["facets"]["lineage"]["entries"]
    }
    both = ["u.csv", "v.parquet"]
    stated["q.csv"].sort()
    assert stated == {"w.main.k": ["v.parquet"], "p.csv": ["u.csv"], "q.csv": both}
    live = Live(EventLog("sqlite:///log.db"))
    live.ingest(Batch([entry_of(json.dumps(event).encode()) for event in events("spool")]))
    grades = {
        short(folder, target): {
            ask(live, load_queries()["why"], {"from_": f"{folder}/{name}", "to": target})["jobs"][
                0
            ]["grade"]
            for name in sources
        }
        for target, sources in ((f"{folder}/p.csv", ["u.csv"]), (f"{folder}/q.csv", both))
    }
    live.log.close()
    assert grades == {"p.csv": {"reported"}, "q.csv": {"possible"}}


def events(folder: str) -> list[Any]:
    lines = [
        line for file in Path(folder).glob("*.jsonl") for line in file.read_text().splitlines()
    ]
    assert all(entry_of(line.encode()).event for line in lines)
    return [json.loads(line) for line in lines]


_SCRIPT = """
import sys
from concurrent.futures import ProcessPoolExecutor
import pandas as pd, polars as pl, duckdb
if __name__ == "__main__":
    with ProcessPoolExecutor(1) as pool:
        list(pool.map(pd.read_csv, ["u.csv"]))
    # Not by pandas: a process that read Parquet through Arrow may abort at its end (arrow#34314).
    pl.read_parquet("v.parquet").write_csv("o.csv")
    with duckdb.connect("w.duckdb") as database:
        database.execute("CREATE TABLE k AS FROM 'z.parquet'")
        database.sql("FROM k").df().describe().to_csv("p.csv")
    import sitecustomize
    sys.exit(3 if "--fail" in sys.argv else sitecustomize.CODE)
"""


@pytest.mark.server
@pytest.mark.parametrize("how", ["works", "fails", "off"])
def test_python_script_is_reported_without_declaration(how: str, folder: Path) -> None:
    Path("etl.py").write_text(_SCRIPT)
    Path("site").mkdir()
    Path("site", "sitecustomize.py").write_text("CODE = 0")
    environ = {name: value for name, value in os.environ.items() if "LINE" not in name}
    environ |= {"PYTHONPATH": "site"} | ({"HEADWATER_CAPTURE": "false"} if how == "off" else {})
    command = "from headwater_client.main import main; main()"
    words = [
        sys.executable,
        "-c",
        command,
        "run",
        "--spool",
        "spool",
        "--",
        sys.executable,
        "etl.py",
    ]
    done = subprocess.run([*words, *(["--fail"] if how == "fails" else [])], env=environ)
    assert done.returncode == (3 if how == "fails" else 0)
    end = events("spool")[-1]
    assert (end["job"]["name"], end["eventType"]) == (
        "etl",
        "FAIL" if how == "fails" else "COMPLETE",
    )
    names = [[short(folder, item["name"]) for item in end[side]] for side in ("inputs", "outputs")]
    reads, writes = ["u.csv", "v.parquet", "z.parquet"], ["o.csv", "w.main.k", "p.csv"]
    assert names == ([[], []] if how == "off" else [reads, writes])
    if how != "off":
        entries = end["job"]["facets"]["lineage"]["entries"]
        sources = [[short(folder, item["name"]) for item in e["inputs"]] for e in entries]
        assert sources == [["v.parquet"], ["z.parquet"], [*reads, "w.main.k"]]


@pytest.mark.parametrize(
    "function", [pd.read_csv, pd.DataFrame.to_csv, pl.read_csv, pq.read_table, pa.csv.read_csv]
)
def test_wrapped_functions_can_be_pickled(function: Any, folder: Path) -> None:
    with capturing(Capture()):
        pass
    module = sys.modules[function.__module__]
    current: Any = module
    for part in function.__qualname__.split("."):
        current = getattr(current, part)
    assert pickle.loads(pickle.dumps(current)) is current


def test_error_in_capturing_reaches_no_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("broken")

    with capturing(Capture()):
        pass
    for method in ("add_reads", "add_writes", "add_query"):
        monkeypatch.setattr(Capture, method, broken)
    engine = create_engine("sqlite:///s.db")
    with capturing(Capture()):
        pd.read_csv("u.csv").to_csv("o.csv")
        duckdb.sql("SELECT * FROM 'v.parquet'").df()
        pd.read_sql("SELECT * FROM rates", engine)
    engine.dispose()
    with pytest.raises(FileNotFoundError), capturing(Capture()):
        pd.read_csv("missing.csv")


def test_objects_of_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws(), capturing(Capture()) as capture:
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="box")
        s3.upload_fileobj(BytesIO(b"a\n1\n"), "box", "in/u.csv")
        s3.list_objects_v2(Bucket="box")
    assert [(item.namespace, item.name) for item in capture.writes] == [("s3://box", "in/u.csv")]
    with mock_aws(), capturing(Capture()) as capture:
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="box")
        with paused():
            s3.put_object(Bucket="box", Key="k", Body=b"a\n1\n")
        assert origin_of(pd.read_csv(s3.get_object(Bucket="box", Key="k")["Body"]))
        s3.copy_object(Bucket="box", Key="c", CopySource={"Bucket": "box", "Key": "k"})
    assert [item.key for item in capture.reads] == [("s3://box", "k")]
    assert [(item.name, item.sources) for item in capture.writes] == [("c", (("s3://box", "k"),))]
