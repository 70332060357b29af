"""Faults that a published file can have; the generator and the tests use them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

Fault = Literal[
    "truncated",
    "page",
    "empty",
    "no_rows",
    "wrong_schema",
    "text_dates",
    "unknown_column",
    "impossible_values",
]


def _truncated(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _page(path: Path) -> None:
    path.write_text("<!doctype html><title>Sign in</title><p>Please sign in to continue.</p>\n")


def _without_zones(path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(path).drop_columns(["PULocationID"]), path)


def _no_rows(path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(path).slice(0, 0), path)


def _text_dates(path: Path) -> None:
    """Replace times by text as a spreadsheet writes it."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    trips = pq.read_table(path)
    at = next(n for n, name in enumerate(trips.column_names) if name.endswith("pickup_datetime"))
    text = pc.strftime(trips.column(at), "%m/%d/%Y %H:%M").cast(pa.string())
    pq.write_table(trips.set_column(at, trips.column_names[at], text), path)


def _unknown_column(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    trips = pq.read_table(path)
    pq.write_table(trips.append_column("driver_mood", pa.nulls(len(trips), pa.string())), path)


def _impossible_values(path: Path) -> None:
    """Set an infinite amount in every twentieth row."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    trips = pq.read_table(path)
    at = trips.column_names.index("total_amount")
    amounts = np.where(np.arange(len(trips)) % 20, trips.column(at).to_numpy(), np.inf)
    pq.write_table(trips.set_column(at, "total_amount", pa.array(amounts)), path)


FAULTS: dict[Fault, Callable[[Path], None]] = {  # functions that damage a good file
    "truncated": _truncated,
    "page": _page,
    "empty": _empty,
    "no_rows": _no_rows,
    "wrong_schema": _without_zones,
    "text_dates": _text_dates,
    "unknown_column": _unknown_column,
    "impossible_values": _impossible_values,
}
