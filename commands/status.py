"""`./run status` and `./run settings`."""

from __future__ import annotations

from collections.abc import Collection

import httpx
from rich.table import Table as Grid
from rich.text import Text

from headwater.console.render import SafeConsole
from lakehouse.catalog import open_catalog
from lakehouse.names import DATABASE
from lakehouse.settings import Settings, sources


def show_settings(settings: Settings, arguments: Collection[str] = ()) -> None:
    """Print all settings with value, source and description; `arguments` come from `--set`."""
    console = SafeConsole(keep="\n", highlight=False, soft_wrap=True)
    for name, value, source, description in sources(settings, arguments):
        line = Text.assemble((name, "bold"), " = ", value or '""', (f"  ({source})", "dim"))
        console.print(line)
        console.print(Text(f"    {description}", style="dim"))


def show_status(settings: Settings) -> None:
    """Print which services run, and all tables with their rows and versions."""
    console = SafeConsole(keep="\n")
    services = Grid("service", "address", "", box=None, pad_edge=False)
    for name, url, path in (
        ("lineage", settings.headwater_url, "/healthz"),
        ("Airflow", f"http://localhost:{settings.airflow_port}", "/api/v2/monitor/health"),
    ):
        up = _answers(url + path)
        services.add_row(name, url, "[green]up[/green]" if up else "[dim]not running[/dim]")
    console.print(services)
    console.print()
    tables = _tables(settings)
    if tables.row_count:
        console.print(f"Tables of {DATABASE} in {settings.warehouse}", soft_wrap=True)
        console.print(tables)
    else:
        console.print("There are no tables yet. `./run demo` creates them.")


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2).is_success
    except httpx.HTTPError:
        return False


def _tables(settings: Settings) -> Grid:
    grid = Grid("table", "rows", "snapshot", "written", box=None, pad_edge=False, padding=(0, 1))
    if settings.lakehouse == "local" and not settings.state_dir.exists():
        return grid  # opening the catalog would create it
    catalog = open_catalog(settings)
    if not catalog.namespace_exists(DATABASE):
        return grid
    for identifier in sorted(catalog.list_tables(DATABASE)):
        table = catalog.load_table(identifier)
        snapshot = table.current_snapshot()
        rows = snapshot.summary["total-records"] if snapshot and snapshot.summary else "0"
        grid.add_row(
            identifier[-1],
            f"{int(rows or 0):,}",
            str(snapshot.snapshot_id) if snapshot else "-",
            _time(snapshot.timestamp_ms / 1000) if snapshot else "-",
        )
    return grid


def _time(seconds: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
