"""The tables and files that SQL texts name."""

from __future__ import annotations

import pytest

from headwater_client.capture._names import database_of_url, names_of
from headwater_client.capture._sql import tables_of


@pytest.mark.parametrize(
    ("dialect", "sql", "reads", "writes"),
    [
        (
            "postgres",
            "SELECT * FROM A.b x JOIN c ON x.i = c.i, d WHERE EXTRACT(year FROM ts) = 1"
            " AND x IS DISTINCT FROM y",
            ["a.b", "c", "d"],
            [],
        ),
        (
            "postgres",
            "WITH s AS (SELECT * FROM raw.src), t(a) AS MATERIALIZED (SELECT 1 FROM s)"
            " INSERT INTO Out SELECT * FROM s, t LEFT JOIN Z ON true",
            ["raw.src", "z"],
            ["out"],
        ),
        ("duckdb", "WITH o AS (SELECT * FROM o) SELECT * FROM o", ["o"], []),
        ("duckdb", "FROM tbl SELECT a", ["tbl"], []),
        ("duckdb", "COPY t FROM 'x.csv'", [], ["t"]),
        ("duckdb", "EXPLAIN SELECT * FROM t; DROP TABLE u; PRAGMA v", [], []),
        ("sqlite", "INSERT INTO t (a, b) VALUES (?, 'from u')", [], ["t"]),
        ("sqlite", "CREATE TABLE t (a int); SELECT name FROM sqlite_master", [], []),
        ("postgres", "CREATE TEMP TABLE t AS SELECT * FROM k", ["k"], ["t"]),
        ("postgres", "CREATE TABLE t AS (SELECT * FROM k)", ["k"], ["t"]),
        (
            "snowflake",
            "MERGE INTO t USING (SELECT * FROM s1) s ON t.a = s.a WHEN MATCHED THEN UPDATE SET a=1",
            ["S1"],
            ["T"],
        ),
        ("mssql", "SELECT [x] FROM [dbo].[T] WHERE a IN (SELECT b FROM [U])", ["dbo.T", "U"], []),
        ("mysql", "SELECT 'from x' -- from y\n FROM `z` /* from w */", ["z"], []),
        ("postgres", "SELECT * FROM unnest(a) u, real_t, generate_series(1, 2)", ["real_t"], []),
        ("postgres", "UPDATE t SET a = 1 FROM s WHERE t.i = s.i", ["s"], ["t"]),
        ("postgres", "SELECT 1 FROM t FOR UPDATE", ["t"], []),
        ("postgres", "SELECT * FROM (a JOIN b ON true) c, $$ FROM d $$", ["a", "b"], []),
        ("postgres", "INSERT INTO x SELECT * FROM y ON CONFLICT DO UPDATE SET a = 1", ["y"], ["x"]),
    ],
)
def test_tables_of_statements(dialect: str, sql: str, reads: list[str], writes: list[str]) -> None:
    found = tables_of(sql, dialect)
    assert [".".join(parts) for parts in found.reads] == reads
    assert [".".join(parts) for parts in found.writes] == writes


@pytest.mark.parametrize(
    ("sql", "reads", "writes"),
    [
        ("SELECT * FROM 'a.parquet' JOIN \"b/c.csv\" USING (i)", ["a.parquet", "b/c.csv"], []),
        ("SELECT * FROM read_csv(['a.csv', 'b.csv'], header=true)", ["a.csv", "b.csv"], []),
        ("COPY (FROM 'a/*.parquet') TO 'x.csv' (FORMAT csv)", ["a/*.parquet"], ["x.csv"]),
        ("COPY t FROM 'x.csv'", ["x.csv"], []),
    ],
)
def test_files_of_duckdb(sql: str, reads: list[str], writes: list[str]) -> None:
    found = tables_of(sql, "duckdb")
    assert (found.files_read, found.files_written) == (reads, writes)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/a/../b/x.csv", ("file", "/b/x.csv")),
        ("file:///b/x%20y.csv", ("file", "/b/x y.csv")),
        ("/b/2026-*/x.csv", ("file", "/b")),
        ("s3a://bucket/a/b.parquet", ("s3://bucket", "a/b.parquet")),
        ("simplecache::gcs://bucket/k", ("gs://bucket", "k")),
        ("abfs://box@acc.dfs.core.windows.net/k/", ("abfss://box@acc.dfs.core.windows.net", "k")),
        ("https://me:pw@host/d/x.csv?sig=secret", ("https://host", "d/x.csv")),
        ("hdfs://name:8020/d/x", ("hdfs://name:8020", "/d/x")),
        ("memory://x", None),
        ('{"a": 1}', None),
    ],
)
def test_names_of_paths(path: str, name: tuple[str, str] | None) -> None:
    assert names_of(path) == ([name] if name else [])


@pytest.mark.parametrize(
    ("url", "schema", "table", "name"),
    [
        ("postgresql+psycopg://me:pw@db/shop", None, "t", ("postgres://db:5432", "shop.public.t")),
        ("postgresql://db:5433/shop", "own", "a.t", ("postgres://db:5433", "shop.a.t")),
        ("mysql+pymysql://me:pw@db/shop", "shop", "t", ("mysql://db:3306", "shop.t")),
        ("mssql+pyodbc://me:pw@db/shop", None, "t", ("mssql://db:1433", "shop.dbo.t")),
        ("snowflake://me:pw@acct/DB/S", None, "T", ("snowflake://acct", "DB.S.T")),
        ("bigquery://proj/data", None, "t", ("bigquery", "proj.data.t")),
        ("duckdb:////srv/shop.duckdb", None, "t", ("duckdb:///srv/shop.duckdb", "shop.main.t")),
        ("sqlite:////srv/shop.db", None, "t", ("sqlite:///srv/shop.db", "t")),
        ("sqlite://", None, "t", None),
        ("unheard://db/x", None, "t", None),
    ],
)
def test_names_of_tables(
    url: str, schema: str | None, table: str, name: tuple[str, str] | None
) -> None:
    database = database_of_url(url, schema)
    assert (database.table(tuple(table.split("."))) if database else None) == name
