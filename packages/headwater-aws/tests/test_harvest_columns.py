"""Column lineage of SQL statements, against a truth table written by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.plugins.sql.model import Statement, after
from headwater.plugins.sql.session import Session, SessionTable
from headwater.plugins.sql.statements import read_statement
from headwater.plugins.sql.steps import UnreadError

_COLUMNS = {
    "rides": "id at zone fare tip",
    "zones": "id name borough",
    "daily": "day zone n fare",
    "Trips": "TripId fareAmount zone",
    "events": "id payload",
}
_CATALOG = {
    ("dev", "public", table): dict.fromkeys(names.split(), "int")
    for table, names in _COLUMNS.items()
}
_DIRECT = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
_INDIRECT = ("JOIN", "FILTER", "GROUP_BY", "SORT", "WINDOW", "CONDITIONAL")

Edges = set[tuple[str, str, str, str, bool]]
"""Target column (`*` for all rows), source column, type, subtype, masking."""


def _truth() -> dict[str, tuple[str, str]]:
    """Return the dialect and the edges of each statement of the truth table."""
    found = {}
    _, *blocks = (Path(__file__).parent / "column_truth.txt").read_text().split("\n\n")[1:]
    for block in blocks:
        dialect = "postgres" if block.startswith("-- PostgreSQL\n") else "redshift"
        lines = [line for line in block.splitlines() if not line.startswith("--")]
        sql = " ".join(line for line in lines if not line.startswith(" "))
        edges = [line.strip() for line in lines if line.startswith(" ")]
        if sql:
            assert sql not in found
            assert edges
            found[sql] = dialect, "\n".join(edges).removesuffix("none")
    return found


_TRUTH = _truth()


def _expected(text: str) -> Edges:
    edges = set()
    for line in filter(None, map(str.strip, text.splitlines())):
        target, _, sources = line.partition(" < ")
        for source in sources.split(", "):
            column, kind = source.split()
            subtype = kind.rstrip("!")
            type_ = "DIRECT" if subtype in _DIRECT else "INDIRECT"
            assert subtype in _DIRECT + _INDIRECT
            edges.add((target, column, type_, subtype, kind.endswith("!")))
    return edges


def _edges(statement: Statement | None) -> Edges:
    assert statement is not None
    found = {**statement.columns, "*": statement.indirect}
    return {
        (target, f"{origin.table[2]}.{origin.column}", *origin.kind)
        for target, origins in found.items()
        for origin in origins
    }


def _session(**more: object) -> Session:
    return Session("dev", "me", _CATALOG, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("sql", _TRUTH)
def test_statement_has_exactly_the_true_column_edges(sql: str) -> None:
    dialect, edges = _TRUTH[sql]
    assert _edges(read_statement(sql, _session(dialect=dialect))) == _expected(edges)


def test_truth_table_covers_each_kind_of_statement() -> None:
    edges = [_expected(text) for _, text in _TRUTH.values()]
    assert len(edges) >= 25
    assert {edge[3] for found in edges for edge in found} == {*_DIRECT, *_INDIRECT}


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("create table x as with rides as (select id from rides) select id from rides", ["rides"]),
        ("create table x as with zones as (select 1 a) select id from rides, zones", ["rides"]),
        ("create table x as with a as (select 1 id) select id from public.a", ["a"]),
        ("update daily set n = (select max(day) from daily)", []),
        ("delete from daily using (select id from zones) z where z.id = zone", ["zones"]),
    ],
)
def test_inputs_are_the_tables_that_are_read(sql: str, tables: list[str]) -> None:
    found = read_statement(sql, _session())
    assert found is not None
    assert [table[2] for table in found.tables] == tables


def test_columns_of_unknown_tables_are_those_that_the_statement_names() -> None:
    sql = (
        "create table x as with a as (select * from nobodys) select trunc(at) as day, a.fare,"
        " z.name from a join zones z on a.zone = z.id where exists"
        " (select 1 from other o where o.id = a.id) group by day, 2, 3"
    )
    assert _edges(read_statement(sql, _session())) == _expected(
        """day < nobodys.at TRANSFORMATION
        fare < nobodys.fare IDENTITY
        name < zones.name IDENTITY
        * < nobodys.zone JOIN, zones.id JOIN, other.id FILTER, nobodys.id FILTER
        * < nobodys.at GROUP_BY, nobodys.fare GROUP_BY, zones.name GROUP_BY"""
    )
    assert _edges(read_statement("insert into daily select * from nobodys", _session())) == set()


def test_long_conditions_are_read() -> None:
    many = " or ".join(f"zone = {number}" for number in range(3_000))
    found = read_statement(f"create table x as select id from rides where {many}", _session())
    assert _edges(found) == _expected("id < rides.id IDENTITY\n * < rides.zone FILTER")


@pytest.mark.parametrize(
    "sql",
    [
        "create user me password 'x'",
        "create external schema lake from data catalog database 'lake'",
        "create procedure p() as $$ begin insert into a select 1; end $$ language plpgsql",
        "create table rides_old (like rides)",
        "drop user me",
        "drop table rides",
        "truncate rides",
        "vacuum rides",
        "with a as (select 1) select * from a",
    ],
)
def test_statement_that_moves_no_data_is_ignored(sql: str) -> None:
    assert read_statement(sql, _session()) is None


def test_unparsable_statement_has_a_reason() -> None:
    with pytest.raises(UnreadError, match="the source of COPY is not a URL"):
        read_statement("copy rides from 'hosts.txt' ssh", _session())


def _run(statements: Iterable[str]) -> list[Statement]:
    """Run the statements of one session; return those that move data."""
    temporary: dict[str, SessionTable] = {}
    moved = []
    for sql in statements:
        statement = read_statement(sql, _session(temporary=temporary))
        if statement is not None:
            temporary = after(temporary, statement)
            if statement.moves_data:
                moved.append(statement)
    return moved


def _datasets(statement: Statement) -> tuple[list[str], str]:
    target = statement.target
    assert target is not None
    return [*(table[2] for table in statement.tables), *statement.files], target[2]


_UPSERT = [
    "create temp table stage (like rides)",
    "insert into stage select id, day, z.id, d.fare * 2, 0 from daily d join zones z on z.id = d.n",
    "delete from rides using stage where rides.id = stage.id",
    "insert into rides select * from stage",
]


def test_upsert_through_a_temporary_table_has_the_sources_of_that_table() -> None:
    staged, deleted, inserted = _run(_UPSERT)
    assert staged.temporary == ("stage",)
    for statement in (staged, deleted, inserted):
        assert _datasets(statement)[0] == ["daily", "zones"]
    joined = "* < zones.id JOIN, daily.n JOIN"
    assert _edges(deleted) == _expected(f"* < zones.id FILTER\n{joined}")
    assert inserted.target == ("dev", "public", "rides")
    assert _edges(inserted) == _expected(
        f"""id < zones.id IDENTITY
        at < daily.day IDENTITY
        zone < zones.id IDENTITY
        fare < daily.fare TRANSFORMATION
        {joined}"""
    )


@pytest.mark.parametrize(
    "create",
    [
        "create temp table stage (like rides including defaults)",
        "create temporary table stage (id int, at date, zone int, fare int, tip int)",
        "create table #stage (like public.rides)",
        "create local temp table pg_temp.stage (like rides)",
        "select * into #stage from rides where false",
        "select * into temp table stage from rides where false",
        "create temp table stage as select * from rides where false",
    ],
)
def test_loaded_temporary_table_passes_on_its_file(create: str) -> None:
    name = next(word for word in ("#stage", "pg_temp.stage", "stage") if word in create)
    *_, inserted = _run(
        [
            create,
            f"truncate table {name}",
            f"copy {name} from 's3://raw/rides' iam_role default",
            f"insert into rides select * from {name}",
        ]
    )
    assert _datasets(inserted) == (["s3://raw/rides"], "rides")
    assert _edges(inserted) == set()


@pytest.mark.parametrize("empty", ["truncate stage", "delete from stage"])
def test_emptied_temporary_table_forgets_its_sources(empty: str) -> None:
    first = ["create temp table stage (like zones)", "insert into stage select * from zones"]
    again = [empty, "insert into stage (id) select id from rides"]
    *_, inserted = _run([*first, *again, "insert into zones select * from stage"])
    assert _datasets(inserted) == (["rides"], "zones")


def test_temporary_table_hides_a_permanent_one_until_it_is_dropped() -> None:
    hidden = ["create temp table zones as select id from rides"]
    first, second = _run(
        [
            *hidden,
            "insert into daily (n) select id from zones",
            "drop table if exists zones, other",
            "insert into daily (n) select id from zones",
        ]
    )[1:]
    assert _datasets(first) == (["rides"], "daily")
    assert _datasets(second) == (["zones"], "daily")


def test_changes_of_a_temporary_table_add_sources() -> None:
    *_, inserted = _run(
        [
            "create temp table stage as select id, name from zones",
            "update stage set name = r.fare from rides r where r.zone = stage.id",
            "merge into stage using daily d on stage.id = d.n"
            " when matched then update set name = d.day",
            "insert into zones (id, name) select id, name from stage",
        ]
    )
    assert _datasets(inserted) == (["zones", "rides", "daily"], "zones")
    assert _edges(inserted) == _expected(
        """id < zones.id IDENTITY
        name < zones.name IDENTITY, rides.fare IDENTITY, daily.day IDENTITY
        name < rides.zone FILTER, zones.id FILTER, daily.n JOIN, zones.id JOIN"""
    )


def test_unknown_temporary_table_is_not_a_dataset() -> None:
    found = read_statement("insert into rides (id) select id from #stage", _session())
    assert found is not None
    assert (found.tables, found.unknown, _edges(found)) == ([], ["#stage"], set())


@settings(max_examples=30)
@given(st.permutations([0] * len(_UPSERT) + [1] * len(_UPSERT)))
def test_interleaved_sessions_do_not_mix(order: list[int]) -> None:
    other = [sql.replace("daily d", "events d").replace("d.fare", "d.payload") for sql in _UPSERT]
    scripts = [_UPSERT, [sql.replace("day,", "d.id,").replace("d.n", "d.id") for sql in other]]
    waiting = [iter(script) for script in scripts]
    temporary: list[dict[str, SessionTable]] = [{}, {}]
    found: list[list[Edges]] = [[], []]
    for session in order:
        statement = read_statement(next(waiting[session]), _session(temporary=temporary[session]))
        assert statement is not None
        temporary[session] = after(temporary[session], statement)
        if statement.moves_data:
            found[session].append(_edges(statement))
    assert found == [[_edges(statement) for statement in _run(script)] for script in scripts]
