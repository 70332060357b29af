"""The edges of SQL statements, read from an event, against tables written by hand.

In `sql_truth/*.yaml`, `target < sources` gives the tables, `column < sources` direct edges,
`column ~ sources` indirect edges, and `*` all rows. Names are in lower case, except mixed ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from headwater.graph.sql_lineage import sql_lineage
from headwater.identity import DatasetName

_FOLDER = Path(__file__).parent / "sql_truth"
_PLACES = {
    "postgres": "postgres://db:5432|shop.public.",
    "duckdb": "duckdb:///srv/shop.duckdb|shop.main.",
    "snowflake": "snowflake://org-account|SHOP.PUBLIC.",
    "bigquery": "bigquery|shop.public.",
    "spark": "spark://thrift:10000|public.",
    "redshift": "redshift://cluster.region:5439|shop.public.",
    "databricks": "databricks://workspace|shop.public.",
    "trino": "trino://coordinator:8080|shop.public.",
    "tsql": "mssql://db:1433|shop.dbo.",
    "mysql": "mysql://db:3306|shop.",
    "oracle": "oracle://db:1521|shop.public.",
    "clickhouse": "clickhouse://db:9000|shop.",
}
_UPPER = "snowflake", "oracle"
_TABLES = {
    "orders": "id customer_id amount status created_at note",
    "customers": "id name email region_id parent_id",
    "regions": "id name",
    "items": "order_id product qty price",
    "events": "id payload at",
    "sales": "region quarter amount",
    "quarters": "region q1 q2",
    "staff": "id manager_id name",
    "daily": "day region n total",
    "summary": "id name total rank_no",
    "archive": "id amount",
    "tags": "id labels",
    "Invoices": "InvoiceId TotalAmount",
}
_ALL = "postgres duckdb snowflake bigquery spark"
"""The dialects of the statements in `shared.yaml`."""


class _Truth(NamedTuple):
    tables: dict[str, set[str]]
    """The sources of each table that is written."""
    columns: dict[str, set[str]]
    """The columns of each."""
    edges: set[tuple[str, str, str, str]]
    """Table, column, `<` or `~`, and source column."""


def _statements(dialect: str) -> dict[str, str]:
    paths = [
        path for path in (f"{dialect}.yaml", f"{dialect}_more.yaml") if (_FOLDER / path).exists()
    ]
    shared = [item for item in _items("shared.yaml") if dialect in item.get("in", _ALL).split()]
    items = (*shared, *(item for path in paths for item in _items(path)))
    return {item["sql"]: item["is"] for item in items if dialect in item.get("in", dialect).split()}


def _items(path: str) -> list[dict[str, str]]:
    return list(yaml.safe_load((_FOLDER / path).read_text()))


def _truth(text: str) -> _Truth:
    truth = _Truth({}, {}, set())
    target = ""
    for line in text.splitlines() if text != "none" else ():
        words = line.replace(",", "").split()
        if words[0] == "*" or not (words[0] in _TABLES or words[0] == "x"):
            if words[0] != "*":
                truth.columns[target].add(words[0])
            sign = words[1]
            for word in words[2:]:
                if word in "<~":
                    sign = word
                else:
                    truth.edges.add((target, words[0], sign, word))
        else:
            target = words[0]
            truth.tables[target], truth.columns[target] = set(words[2:]), set()
    return truth


def _read(build: Any, sql: str, truth: _Truth, dialect: str) -> _Truth | str:
    place = _PLACES[dialect]

    def spelled(name: str) -> str:
        return name.upper() if dialect in _UPPER and name.islower() else name

    def described(table: str) -> dict[str, Any]:
        fields = [{"name": spelled(name)} for name in _TABLES[table].split()]
        found: dict[str, Any] = build.dataset(place + spelled(table), schema={"fields": fields})
        return found

    load = build.run("COMPLETE", "0", "load", "00:30:00")
    load["outputs"] = [described(table) for table in _TABLES]
    event = build.run("COMPLETE", "1", "job", "01:00:00")
    event["job"]["facets"]["sql"] = {"query": sql}
    event["outputs"] = [
        build.dataset(place + spelled(name)) for name in truth.tables or ("archive",)
    ]
    state = build.state(load, event)
    run = next(run for run in state.runs.values() if run.key.job.name == "job")
    found = sql_lineage(state, run)
    if found is None:
        return "not read"

    def plain(name: str) -> str:
        return name.lower() if dialect in _UPPER and name.isupper() else name

    def table(name: DatasetName) -> str:
        prefix = place.partition("|")[2]
        assert name.name.startswith(prefix), name
        return plain(name.name.removeprefix(prefix))

    inputs = {table(name) for name in run.inputs}
    read = _Truth(
        {table(name): set(map(table, sources)) for name, sources in found.sources.items()},
        {table(name): set(map(plain, own.columns)) for name, own in found.columns.items()},
        {
            (
                table(name),
                plain(link.target) if link.target else "*",
                "<" if link.is_direct else "~",
                f"{table(DatasetName(link.namespace, link.name))}.{plain(link.field)}",
            )
            for name, own in found.columns.items()
            for link in own.links
        },
    )
    missing = set().union(*read.tables.values()) - inputs if read.tables else set()
    return f"no inputs: {missing}" if missing else read


@pytest.mark.parametrize("dialect", _PLACES)
def test_statements_have_exactly_the_true_edges(dialect: str, build: Any) -> None:
    wrong = []
    for sql, text in _statements(dialect).items():
        truth = _truth(text)
        read = _read(build, sql, truth, dialect)
        if read != truth:
            wrong.append(f"{sql}\n{_difference(read, truth)}")
    assert not wrong, "\n\n".join(wrong)


def _difference(read: _Truth | str, truth: _Truth) -> str:
    if isinstance(read, str):
        return f"    {read}"
    lines = [f"    missing {' '.join(edge)}" for edge in sorted(truth.edges - read.edges)]
    lines += [f"    false {' '.join(edge)}" for edge in sorted(read.edges - truth.edges)]
    if read.tables != truth.tables:
        lines.append(f"    tables {read.tables}, not {truth.tables}")
    if read.columns != truth.columns:
        lines.append(f"    columns {read.columns}, not {truth.columns}")
    return "\n".join(lines)
