"""Commands of trust."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from throughline.console.client import Client, Database, Key, Url, settings_of, with_client
from throughline.trust.printing import print_health


@with_client(past=True)
def gate(
    client: Client,
    datasets: Annotated[list[str], typer.Argument(help="Datasets: ids or names.")],
    policy: Annotated[
        Path | None,
        typer.Option(help="YAML file. [no failed runs, checks passed, no PII]"),
    ] = None,
) -> None:
    """Check the provenance of datasets against a policy.

    Exit code 0: passed; 1: failed; 3: the server or log is unavailable.

    Example: throughline gate yellow_taxi_raw weather_raw --policy policy.yaml
    """
    from throughline.trust.gate_command import run_gate

    if not run_gate(client, datasets, policy):
        raise typer.Exit(1)


@with_client(past=True)
def check(
    client: Client,
    file: Annotated[Path, typer.Argument(help="YAML file with the contract.")] = Path(
        "contract.yaml"
    ),
    write: Annotated[
        bool,
        typer.Option("--write", help="Write the captured lineage to the file; keep patterns."),
    ] = False,
) -> None:
    """Compare the inputs and outputs of jobs with a contract.

    Exit code 1: there are differences.

    Example: throughline check contract.yaml
    """
    from throughline.trust.check_command import run_check

    if not run_check(client, file, write=write):
        raise typer.Exit(1)


@with_client(past=True)
def health(client: Client) -> None:
    """Show failed, stale and late jobs, failed checks and gaps.

    Exit code 1: problems were found.

    Example: throughline health --as-of 2026-11-21T08:30
    """
    if not client.print("health", {}, print_health)["isHealthy"]:
        raise typer.Exit(1)


def doctor(
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    spool: Annotated[Path | None, typer.Option(help="With --database: its spool folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List producers, problems and advice.

    Exit code 1: problems were found; 3: the server is unavailable or rejects the key.

    Example: throughline doctor --url http://localhost:9002
    """
    from throughline.trust.doctor_command import examine

    settings = settings_of(url=url, database=database, api_key=api_key, spool=spool)
    raise typer.Exit(examine(settings, is_local=database is not None, as_json=as_json))
