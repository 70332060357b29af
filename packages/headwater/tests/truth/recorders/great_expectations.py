"""Record the OpenLineage action of Great Expectations on a table of SQLite."""

from __future__ import annotations

from .recording import copied, file_transport, keep, run

_PACKAGES = [
    "great-expectations==1.24.1",
    "openlineage-integration-common==1.54.0",
    "pandas",
    "sqlalchemy",
]


def main() -> None:
    """Record a suite with a failing expectation."""
    case = "great-expectations-sqlite"
    with copied("great_expectations") as folder:
        events = folder / "events.jsonl"
        settings = {
            "OPENLINEAGE__TRANSPORT": file_transport(events),
            "NAMESPACE": case,
            "SHOP": str(folder),
        }
        run(_PACKAGES, ["python", "check.py"], folder, settings)
        keep(case, events, folder, {"/srv/shop/": f"/srv/{case}/"})
