"""Record code that uses the OpenLineage client, openlineage-sql and headwater's own producers."""

from __future__ import annotations

import sys
from pathlib import Path

from .recording import copied, file_transport, keep, run

_CLIENT = ["openlineage-python==1.54.0"]
_SQL = [*_CLIENT, "openlineage-sql==1.54.0", "duckdb==2.0.1", "pytz"]


def main() -> None:
    """Record a case for each kind of code."""
    with copied("python") as folder:
        _record("openlineage-client", folder, _CLIENT, "orders.py")
    with copied("sql") as folder:
        _record("openlineage-sql-duckdb", folder, _SQL, "warehouse.py")
    case = "headwater-producers"
    with copied("headwater") as folder:
        spool = folder / "spool"
        settings = {"HEADWATER_SPOOL": str(spool), "SHOP": str(folder)}
        headwater = Path(sys.executable).with_name("headwater")
        clean = ["sh", "-c", "grep . raw_zones.csv > zones.csv"]
        run([], [headwater, "run", "--spool", spool, "--", *clean], folder, settings)
        run([], [sys.executable, "zones.py"], folder, settings, may_fail=True)
        events = folder / "events.jsonl"
        parts = sorted(spool.rglob("*.jsonl"), key=lambda part: part.stat().st_mtime_ns)
        events.write_text("".join(part.read_text() for part in parts))
        keep(case, events, folder, {"/srv/shop/": f"/srv/{case}/"})


def _record(case: str, folder: Path, packages: list[str], script: str) -> None:
    events = folder / "events.jsonl"
    settings = {"OPENLINEAGE__TRANSPORT": file_transport(events), "NAMESPACE": case}
    run(packages, ["python", script], folder, settings)
    keep(case, events, folder)
