"""Measure the time that capturing adds to reads and writes of libraries.

    .venv/bin/python benchmarks/capture.py [ROUNDS]

Every operation runs with and without an active capture in turn. The time that a capture adds is the
difference of the medians on 10 rows, where it is not hidden by the noise of the operation itself.
It is compared with the median of the operation on 500,000 rows of 6 columns, or on 100,000 rows of
a table in SQLite and DuckDB. Times are CPU times: of the process for the operations, and of the
calling thread for what is added.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
from pyiceberg.catalog import load_catalog
from sqlalchemy import create_engine, text

from headwater_client.capture import Capture, capturing

ROWS, ROWS_OF_TABLE, FEW_ROWS = 500_000, 100_000, 10


def operations(folder: str, rows: int, rows_of_table: int) -> dict[str, Callable[[], Any]]:
    """Create the files and tables; return the operations by their names."""
    numbers = np.random.default_rng(1)
    frame = pd.DataFrame({f"c{n}": numbers.random(rows) for n in range(6)})
    frame.to_csv(f"{folder}/a.csv", index=False)
    frame.to_parquet(f"{folder}/a.parquet")
    shop: Any = duckdb.connect(f"{folder}/s.duckdb")
    engine = create_engine(f"sqlite:///{folder}/s.db")
    small = frame.head(rows_of_table)
    small.to_sql("t", engine, index=False)
    shop.execute("CREATE TABLE t AS SELECT * FROM small")
    whole = pq.read_table(f"{folder}/a.parquet")
    warehouse = {"uri": f"sqlite:///{folder}/c.db", "warehouse": f"file://{folder}/wh"}
    catalog = load_catalog("c", type="sql", **warehouse)
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", whole.schema)
    table.append(whole)

    def query() -> None:
        with engine.connect() as connection:
            connection.execute(text("SELECT * FROM t")).fetchall()

    return {
        "pandas.read_csv": lambda: pd.read_csv(f"{folder}/a.csv"),
        "pandas.read_parquet": lambda: pd.read_parquet(f"{folder}/a.parquet"),
        "DataFrame.to_parquet": lambda: frame.to_parquet(f"{folder}/b.parquet"),
        "polars.read_parquet": lambda: pl.read_parquet(f"{folder}/a.parquet"),
        "pyarrow read_table": lambda: pq.read_table(f"{folder}/a.parquet"),
        "PyIceberg scan": lambda: table.scan().to_arrow(),
        "DuckDB, Parquet file": lambda: shop.sql(f"SELECT * FROM '{folder}/a.parquet'").df(),
        "DuckDB table": lambda: shop.sql("SELECT * FROM t").df(),
        "SQLAlchemy query": query,
    }


def cpu_seconds(
    operation: Callable[[], Any], capture: Capture | None, clock: Callable[[], float]
) -> float:
    """Return the CPU seconds of an operation, with or without a capture."""
    with capturing(capture) if capture is not None else nullcontext():
        before = clock()
        operation()
        return clock() - before


def medians(
    operation: Callable[[], Any], rounds: int, clock: Callable[[], float]
) -> tuple[float, float]:
    """Return the median milliseconds without and with a capture."""
    capture = Capture()
    cpu_seconds(operation, capture, clock)  # the first call installs the wrappers
    seconds = [
        (cpu_seconds(operation, None, clock), cpu_seconds(operation, capture, clock))
        for _ in range(rounds)
    ]
    plain, captured = (statistics.median(values) * 1_000 for values in zip(*seconds, strict=True))
    return plain, captured


def main() -> None:
    """Measure all operations, and print the times."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    lines = [f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"]
    lines.append(f"{'CPU time':<24}{'plain, ms':>10}{'captured':>10}{'added, us':>11}{'share':>9}")
    with tempfile.TemporaryDirectory() as many, tempfile.TemporaryDirectory() as few:
        large = operations(many, ROWS, ROWS_OF_TABLE)
        small = operations(few, FEW_ROWS, FEW_ROWS)
        for name, operation in large.items():
            plain, captured = medians(operation, max(5, rounds // 10), time.process_time)
            before, after = medians(small[name], rounds, time.thread_time)
            added = (after - before) * 1_000
            share = f"{added / plain / 10:.2f} %"
            lines.append(f"{name:<24}{plain:>10.1f}{captured:>10.1f}{added:>11.0f}{share:>9}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
