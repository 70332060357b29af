"""`./run status` and `./run settings`."""

from __future__ import annotations

import httpx
from rich.console import Console
from rich.table import Table as Grid

from lakehouse.catalog import open_catalog
from lakehouse.names import DATABASE
from lakehouse.settings import Settings, sources


def show_settings(settings: Settings) -> None:
    """Print name, value and source of every setting."""
    grid = Grid("setting", "value", "from", box=None, pad_edge=False)
    for row in sources(settings):
        grid.add_row(*row)
    Console().print(grid)


def show_status(settings: Settings) -> None:
    """Print which services answer, and every table with its rows and version."""
    console = Console()
    services = Grid("service", "address", "", box=None, pad_edge=False)
    for name, url, path in (
        ("lineage", settings.throughline_url, "/healthz"),
        ("Airflow", f"http://localhost:{settings.airflow_port}", "/api/v2/monitor/health"),
    ):
        up = _answers(url + path)
        services.add_row(name, url, "[green]up[/green]" if up else "[dim]not running[/dim]")
    console.print(services)
    console.print()
    console.print(_tables(settings))


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2).is_success
    except httpx.HTTPError:
        return False


def _tables(settings: Settings) -> Grid:
    grid = Grid("table", "rows", "snapshot", "written", box=None, pad_edge=False)
    catalog = open_catalog(settings)
    if not catalog.namespace_exists(DATABASE):
        return grid
    for identifier in sorted(catalog.list_tables(DATABASE)):
        table = catalog.load_table(identifier)
        snapshot = table.current_snapshot()
        rows = snapshot.summary["total-records"] if snapshot and snapshot.summary else "0"
        written = table.metadata.last_updated_ms / 1000
        grid.add_row(
            ".".join(identifier),
            f"{int(rows or 0):,}",
            str(snapshot.snapshot_id) if snapshot else "-",
            _time(written),
        )
    return grid


def _time(seconds: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
