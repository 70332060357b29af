"""`check --base`: the lineage that a pull request changes, as Markdown."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from headwater.plugins.sql import reader as sql_reader
from headwater.plugins.sql.files import read_file
from headwater.plugins.trust._markdown import _plain
from headwater.sql.reader import Edge
from packages.headwater.tests.conftest import Call

_CONTRACT = {
    "jobs": {"day": {"inputs": ["raw"], "outputs": ["daily"]}},
    "datasets": {"daily": {"columns": {"total": {"type": "int"}}}},
}
_SQL = "create table daily as select sum(fare) as total from raw where fare > 0"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a contract and an SQL file; it is the current folder."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "contract.yaml").write_text(yaml.safe_dump(_CONTRACT))
    (folder / "daily.sql").write_text(_SQL)
    monkeypatch.chdir(folder)
    _git("init", "-q", "-b", "main")
    _commit("first")
    return folder


def _git(*arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def _commit(message: str) -> None:
    _git("add", "-A")
    _git("commit", "-qm", message)


@pytest.fixture
def database(tmp_path: Path, build: Any, call: Call) -> str:
    """A log in which `report` reads the table that the repository's SQL writes."""
    owned = build.run("COMPLETE", "2", "report", "09:00:00", reads=("db|daily",),
                      writes=("db|weekly",))  # fmt: skip
    owners = [{"name": "team:finance", "type": "OWNER"}]
    owned["job"]["facets"] = {"ownership": {"owners": owners}}
    events = [
        build.run("COMPLETE", "1", "day", "08:00:00", reads=("db|raw",), writes=("db|daily",)),
        owned,
    ]
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(map(orjson.dumps, events)))
    call("ingest", str(tmp_path / "events.jsonl"), "--database", str(tmp_path / "log.db"))
    return str(tmp_path / "log.db")


def _report(call: Call, *options: str) -> str:
    result = call("check", "--base", "main", *options)
    assert result.returncode == 0, result.stderr
    return str(result.stdout)


def test_changed_contract_lists_changes_and_downstream_owners(
    repository: Path, database: str, call: Call
) -> None:
    changed = {**_CONTRACT, "jobs": {"day": {"inputs": ["raw", "zones"], "outputs": ["daily"]}}}
    (repository / "contract.yaml").write_text(yaml.safe_dump(changed))
    lines = _report(call, "--database", database).splitlines()
    assert "### Contract `contract.yaml`: 1 change" in lines
    assert "| + | `day` | input `zones` |" in lines
    assert "| `report` | `job` | 2 | `team:finance` | `day` |" in lines
    assert "| `weekly` | `table` | 3 | `team:finance` | `day` |" in lines
    assert any(line.startswith("| `missing input` | `demo:day` |") for line in lines)
    assert any(line.startswith("### Gates of changed and affected datasets: ") for line in lines)
    assert "### Missing" not in lines


def test_changed_model_affects_the_exposures_of_dbt(
    repository: Path, database: str, call: Call, build: Any, tmp_path: Path
) -> None:
    event = build.run("COMPLETE", "3", "day", "10:00:00", reads=("db|raw",), writes=("db|daily",))
    exposures = [{"unique_id": "exposure.shop.board", "name": "board", "type": "dashboard"}]
    event["outputs"][0]["facets"] = {"dbt_exposures": {"exposures": exposures}}
    (tmp_path / "dbt.json").write_bytes(orjson.dumps(event))
    call("ingest", str(tmp_path / "dbt.json"), "--database", database)
    (repository / "daily.sql").write_text(_SQL.replace("sum(fare)", "max(fare)"))
    lines = _report(call, "--database", database).splitlines()
    assert any(line.startswith("| `exposure.shop.board` | `exposure` | 1 |") for line in lines)


def test_changed_sql_lists_added_and_removed_column_edges(
    repository: Path, database: str, call: Call
) -> None:
    (repository / "daily.sql").write_text(_SQL.replace("sum(fare)", "sum(fare + tip)"))
    (repository / "models").mkdir()
    (repository / "models" / "weekly.sql").write_text("select total from {{ ref('daily') }}")
    _git("checkout", "-qb", "change")
    _commit("change")
    (repository / "new.sql").write_text("select 1 as one")  # not yet added to git
    report = json.loads(call("check", "--base", "main", "--database", database, "--json").stdout)
    sql = {
        file["path"]: [(edge["mark"], edge["subject"], edge["text"]) for edge in file["edges"]]
        for file in report["sql"]
    }
    assert sql == {
        "daily.sql": [("+", "daily.total", "raw.tip")],
        "models/weekly.sql": [("+", "weekly", "daily"), ("+", "weekly.total", "daily.total")],
        "new.sql": [],
    }
    assert report["unknown"] == ["new"]
    assert [item["node"]["name"] for item in report["affected"]] == ["report", "weekly"]


def test_base_is_where_the_branch_began(repository: Path, database: str, call: Call) -> None:
    _git("checkout", "-qb", "change")
    _git("checkout", "-q", "main")
    (repository / "daily.sql").write_text("select 1 as one")
    _commit("main goes on")
    _git("checkout", "-q", "change")
    assert "SQL" not in _report(call, "--database", database)


def test_missing_server_is_named_and_the_rest_is_printed(repository: Path, call: Call) -> None:
    (repository / "daily.sql").write_text(_SQL.replace("fare", "tip"))
    output = _report(call, "--url", "http://localhost:1")
    assert "| + | `daily.total` | aggregation `raw.tip` |" in output
    assert (
        "- contract check, downstream nodes, gates: no server responds at `http://localhost:1`"
        in output
    )
    assert "Downstream" not in output


def test_missing_sqlglot_is_named(
    repository: Path, database: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "daily.sql").unlink()
    monkeypatch.setattr(sql_reader, "missing", lambda: ("is not installed", ""))
    output = _report(call, "--database", database)
    assert "columns of 1 changed SQL file. In a clone, run:" in output


def test_changes_of_sql_that_was_not_understood_are_unknown(
    repository: Path, database: str, call: Call
) -> None:
    def sql_of(text: str) -> list[str]:
        (repository / "daily.sql").write_text(text)
        return _report(call, "--database", database).splitlines()

    lines = sql_of("{% if true %}select 1{% endif %}")
    assert "`daily.sql`: changed edges are unknown" in lines
    assert "Nodes downstream of SQL that was not understood are not listed." in lines
    assert next(line for line in lines if line.startswith("Not understood: ")).count("`") < 6
    partly = sql_of(f"{_SQL.replace('fare', 'tip')}; create table weekly as select from from;")
    assert "`daily.sql`: 2 changed edges; others are unknown" in partly
    _git("checkout", "-qb", "change")
    assert "no changed edges" in "\n".join(sql_of(f"{_SQL} -- a comment"))


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("select * from raw", "select * exclude (fare) from raw", "are unknown"),
        ("select * from raw", "select * from raw -- all", "no changed edges"),
        ("select id, fare from a join b using (k)", "select id from a join b using (k)", "are"),
        ("insert into daily select fare * 2 from raw", "insert into daily select tip * 2 from raw",
         "2 changed edges"),
        ("call fill(1)", "call fill(2)", "are unknown"),
        ("call f(); select fare from raw", "call f(); select tip from raw", "2 changed edges"),
        ("alter table daily swap with a", "alter table daily swap with b", "are unknown"),
        ("select 1 as a from raw; create index i on raw (b)", "select 1 as a from raw",
         "no changed edges"),
    ],
)  # fmt: skip
def test_edges_that_a_file_does_not_determine_are_unknown(
    before: str, after: str, shown: str, repository: Path, database: str, call: Call
) -> None:
    (repository / "daily.sql").write_text(before)
    _commit("before")
    _git("checkout", "-qb", "change")
    (repository / "daily.sql").write_text(after)
    lines = _report(call, "--database", database, "--dialect", "duckdb").splitlines()
    (line,) = [line for line in lines if line.startswith("`daily.sql`: ")]
    assert shown in line


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("create table daily (a int, b int)", "create table daily (a int)"),
        ("select 1", "alter table daily drop column b"),
        ("drop table if exists daily", "select 1"),
        ("truncate daily", "truncate table daily"),
    ],
)
def test_changed_definitions_affect_the_readers_of_their_table(
    before: str, after: str, repository: Path, database: str, call: Call
) -> None:
    (repository / "tables.sql").write_text(before)
    _commit("before")
    _git("checkout", "-qb", "change")
    (repository / "tables.sql").write_text(after)
    report = json.loads(call("check", "--base", "main", "--database", database, "--json").stdout)
    assert [item["node"]["name"] for item in report["affected"]] == ["report", "weekly"]


def test_file_is_read_as_one_session() -> None:
    text = """
    use schema raw; create table x as select id from archive; use warehouse big;
    set cut = (select max(day) from calendar); insert into y (id) select id from x where day > $cut
    """
    found = read_file(text, "load", "snowflake")
    assert {("raw.x", "raw.archive"), ("raw.y", "raw.x"), ("raw.y", "raw.calendar")} == {
        (edge.target, edge.source) for edge in found.edges if edge.kind == "table"
    }


def test_sql_not_understood_at_the_base_has_no_added_edges(repository: Path, call: Call) -> None:
    (repository / "daily.sql").write_text(f"{_SQL}; create table weekly as select from from")
    _commit("not understood in part")
    _git("checkout", "-qb", "change")
    (repository / "daily.sql").write_text("create table daily as select max(tip) as most from raw")
    output = _report(call, "--url", "http://localhost:1")
    assert "`daily.sql`: 2 changed edges; others are unknown" in output
    assert "Not understood: at the base: " in output
    # The base lacks them only as far as it was understood.
    assert "| + |" not in output
    assert "| - | `daily.total` | aggregation `raw.fare` |" in output


def test_sentences_show_only_names_as_code() -> None:
    assert (
        _plain("column 'raw.day' is missing (2 runs).") == "column '`raw.day`' is missing (2 runs)."
    )
    assert _plain("a <b> @you [x](y) #1 | *") == "a `<b> @you [x](y`) `#1 \\| *`"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at http://h ([Errno 111] refused): use", "at `http://h` (`[Errno 111]` refused): use"),
        ("start `headwater serve`, or\nuse", "start `headwater serve`, or use"),
        ("a ` b", "a `'` b"),
        ("`a``<b>` and --x`<c>`", "`a<b>` and `--x<c>`"),
    ],
)
def test_quoted_text_of_a_sentence_is_one_code_span(text: str, shown: str) -> None:
    assert _plain(text) == shown


def test_names_cannot_add_markup(repository: Path, call: Call) -> None:
    changed = {"jobs": {"a`|<img>\n@b": {"inputs": ["x"]}}, "datasets": _CONTRACT["datasets"]}
    (repository / "contract.yaml").write_text(yaml.safe_dump(changed))
    output = _report(call, "--url", "http://localhost:1")
    assert "| + | `a'\\|<img>\\n@b` | input `x` |" in output.splitlines()


def test_unknown_revision_is_rejected(repository: Path, call: Call) -> None:
    for ref in ("nowhere", "--all"):
        result = call("check", "--base", ref, "--url", "http://localhost:1")
        assert (result.returncode, f"git has no revision {ref!r}" in result.stderr) == (2, True)
    result = call("check", "--base", "main", "--write")
    assert (result.returncode, "--write and --base" in result.stderr) == (2, True)


def test_contract_that_never_existed_is_rejected(repository: Path, call: Call) -> None:
    result = call("check", "contrct.yaml", "--base", "main", "--url", "http://localhost:1")
    assert (result.returncode, "contrct.yaml: file not found" in result.stderr) == (2, True)


def test_sql_file_has_edges_of_all_its_statements() -> None:
    text = """
    {{ config(materialized='table') }}
    create temp table recent as select id from trips where day > '{start}'; -- ; in a comment
    insert into totals (n) select count(id) from recent
    """
    found = read_file(text, "load", "")
    assert found.edges == {
        Edge("totals", "trips", "table"),
        Edge("totals.n", "trips.id", "aggregation"),
        Edge("totals.*", "trips.day", "filter"),
    }
    assert found.targets == {"totals"}
    assert not found.unread


def test_dbt_model_is_a_view_of_its_file_name() -> None:
    text = "with x as (select a from {{ source('lake', 'rides') }}) select a as b from x"
    assert read_file(text, "model", "").edges == {
        Edge("model", "lake.rides", "table"),
        Edge("model.b", "lake.rides.a", "identity"),
    }


@pytest.mark.parametrize(
    "text", ["select {{ macro() }}", "select 'open", "insert into (", "{% if %}"]
)
def test_unsupported_sql_has_a_reason(text: str) -> None:
    found = read_file(text, "model", "")
    assert (found.edges, len(found.unread)) == (frozenset(), 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("insert into t select a from where b", "Expected table name but got 'where'."),
        ("create table t as select * from (", "Expected table name but got the end."),
    ],
)
def test_reason_contains_the_unexpected_token(text: str, reason: str) -> None:
    (found,) = read_file(text, "model", "spark").unread
    assert found.startswith(reason)


def test_contract_with_aliases_at_the_base_is_not_expanded(
    repository: Path, database: str, call: Call
) -> None:
    contract = repository / "contract.yaml"
    good = contract.read_text()
    contract.write_text("jobs: &a {}\ndatasets: *a\n")
    _commit("aliases")
    contract.write_text(good)
    assert "the alias `*a`, expected its value" in _report(call, "--database", database)
