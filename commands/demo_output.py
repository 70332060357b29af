"""The demo's output: its data, forecasts, lineage, times and locations."""

from __future__ import annotations

import os
import subprocess

from rich.console import Console
from rich.table import Table as Grid

from commands.environment import addresses, child_environ, script
from commands.marts import EXPOSURE
from lakehouse.backends import deliveries, is_embedded, is_on
from lakehouse.errors import PipelineError
from lakehouse.forecasts import forecast_table, newest_forecasts
from lakehouse.settings import Settings, load_settings

FORECASTS_SHOWN = 6


class DemoFailed(PipelineError):
    """A DAG run failed or had an unexpected result."""


def restart_commands(settings: Settings) -> str:
    """Return the commands that restart the services."""
    if not is_embedded(settings):
        return "`./run airflow` starts Airflow again."
    backend = f"LINEAGE_BACKEND={settings.lineage_backend} " if deliveries(settings) else ""
    more = " and continues delivery" if backend else ""
    return (
        f"`{backend}./run lineage serve` starts the lineage server again{more};"
        f" `{backend}./run airflow` starts Airflow too."
    )


def data_line(settings: Settings, service: str, months: list[str]) -> str:
    """Return the line that describes the data to load."""
    chosen = ", ".join(months) or f"files published in the last {settings.months_back} months"
    if settings.data_source == "generator":
        return (
            "Data: [bold]from the built-in generator[/bold] (not real rides), "
            f"{service} taxis, {chosen}. "
            "Use --real to load from TLC and NOAA, or --data to load from a mirror."
        )
    return f"Data: {settings.taxi_url} and {settings.weather_url}, {service} taxis, {chosen}."


def show_result(
    console: Console, settings: Settings, service: str, *, has_marts: bool = False
) -> None:
    """Print some forecasts of a taxi service with their lineage; with marts, that of the report.

    Raises:
        DemoFailed: there are no forecasts, or the lineage server does not respond.
    """
    table = forecast_table(service)
    forecasts = newest_forecasts(settings, service)
    if not forecasts:
        raise DemoFailed(
            f"{table.identifier} is empty: there was no data to train on. Load other months with "
            "--months, and check the task's log in Airflow."
        )
    console.print(
        f"[bold]{table.identifier}[/bold], {FORECASTS_SHOWN} of {len(forecasts):,} rows "
        f"as of {forecasts[0]['as_of']}",
        soft_wrap=True,
    )
    grid = Grid("datetime_hour")
    for column in ("pulocationid", "forecasted_total_rides"):
        grid.add_column(column, justify="right")
    for row in forecasts[:FORECASTS_SHOWN]:
        grid.add_row(*(str(row[str(column.header)]) for column in grid.columns))
    console.print(grid)
    _show_tree(console, settings, table.name)
    if has_marts:
        _show_command(console, settings, "Upstream of the report on the marts", "tree", EXPOSURE)


def _show_tree(console: Console, settings: Settings, table: str) -> None:
    if not is_on(settings):
        console.print("\nLineage is disabled by LINEAGE_BACKEND=none or OPENLINEAGE_DISABLED=true.")
        return
    if not is_embedded(settings):
        console.print(
            f"\nThe lineage was sent directly to {settings.lineage_backend}. The tasks' logs"
            " contain rejected events.",
            soft_wrap=True,
        )
        return
    if not _show_command(console, settings, "Upstream of the forecasts", "tree", table):
        raise DemoFailed(
            "The lineage cannot be shown (see above). Check "
            f"{settings.state_dir}/logs/headwater.log."
        )
    if deliveries(settings):
        _show_command(console, settings, "Delivery", "deliver", "--status")


def _show_command(console: Console, settings: Settings, title: str, *words: str) -> bool:
    """Print the output of a lineage command below it; return True if it succeeded."""
    command = " ".join([lineage_command(settings), *words])
    console.print(f"\n[bold]{title}[/bold]  [dim]{command}[/dim]", soft_wrap=True)
    environ = child_environ(settings)
    return subprocess.run([script("headwater"), *words], env=environ).returncode == 0


def lineage_command(settings: Settings) -> str:
    """Return the command that queries this lineage server from another terminal."""
    port = settings.headwater_port
    own_variables = {"HEADWATER_PORT", "LINEAGE_BACKEND"} & os.environ.keys()
    default = Settings.model_fields["headwater_port"].default
    is_default = port == (default if own_variables else load_settings().headwater_port)
    return f"{'' if is_default else f'HEADWATER_PORT={port} '}./run lineage"


def locations(settings: Settings, *, has_services: bool) -> Grid:
    """Return the table of tables, files and logs, and with `has_services` of the UIs that run."""
    grid = Grid(title="\nLocations", title_justify="left", box=None, pad_edge=False)
    grid.show_header = False
    for name, address in addresses(settings).items() if has_services else ():
        grid.add_row(name, address)
    grid.add_row("Tables", settings.warehouse)
    grid.add_row("Landed files", str(settings.landing_dir))
    if is_embedded(settings):
        grid.add_row("Lineage database", str(settings.lineage_database))
    grid.add_row("Logs", str(settings.state_dir / "logs"))
    return grid
