"""Commands about trust, which query the server and print the problems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.config import read_yaml
from headwater.console.client import (
    Client,
    Database,
    Key,
    Url,
    moment,
    settings_of,
    with_client,
)
from headwater.console.render import print_json, print_line
from headwater.console.source import Params
from headwater.errors import ConfigError, OptionError, ServerError
from headwater.plugins.trust.printing import (
    print_check,
    print_doctor,
    print_gate,
    print_health,
    print_problems,
    print_state,
)
from headwater.query.parameters import Cursor, Limit
from headwater.text import counted

if TYPE_CHECKING:
    from headwater.plugins.trust.models import DoctorAnswer, HealthFinding
    from headwater.settings import Settings

_HEADER = "# Inputs and outputs of jobs. Compare with `headwater check`; update with `--write`.\n"
Subject = Annotated[str, typer.Argument(help="Job or dataset of the finding: an id or a name.")]
Kind = Annotated[
    str | None, typer.Option(help="Kind of the finding, if there are several: failed, late …")
]
Note = Annotated[str | None, typer.Option(help="Reason, shown with the finding.")]

_RETRY_SECONDS = 1.0  # seconds in which a server should have read its spool


@with_client(past=True)
def gate(
    client: Client,
    datasets: Annotated[list[str], typer.Argument(help="Datasets: ids or names.")],
    policy: Annotated[
        Path | None,
        typer.Option(help="YAML file. [no failed runs, checks passed, no PII, no recalled data]"),
    ] = None,
) -> None:
    """Check the provenance of datasets against a policy.

    Exit code 0: passed; 1: failed; 3: the server or log is unavailable.

    Example: headwater gate yellow_taxi_raw weather_raw --policy policy.yaml
    """
    rules = None if policy is None else _as_json(read_yaml(policy))
    answer = _ask(client, "gate", {"dataset": datasets, "policy": rules}, policy)
    client.show(answer, print_gate)
    if not answer["passed"]:
        raise typer.Exit(1)


@with_client(past=True)
def check(
    client: Client,
    file: Annotated[
        Path, typer.Argument(help="YAML file with a contract, or an Open Data Contract.")
    ] = Path("contract.yaml"),
    write: Annotated[
        bool,
        typer.Option("--write", help="Write the captured lineage to the file; keep patterns."),
    ] = False,
    base: Annotated[
        str | None,
        typer.Option(help="Git revision to compare with: print Markdown for a pull request."),
    ] = None,
    dialect: Annotated[
        str, typer.Option(help="With --base: SQL dialect of changed files (of sqlglot). [generic]")
    ] = "",
    policy: Annotated[
        Path | None, typer.Option(help="With --base: policy of the gates, a YAML file.")
    ] = None,
) -> None:
    """Compare the inputs and outputs of jobs with a contract.

    Exit code 1: there are differences.

    Example: headwater check contract.yaml
    """
    if write and base is not None:
        raise ConfigError("received --write and --base, expected only one of them")
    if not file.exists() and not write and base is None:
        raise ConfigError(
            f"{file}: file not found; pass the contract's path, or create it from the captured"
            " lineage with `headwater check --write`"
        )
    body = read_yaml(file) if file.exists() else None
    if write and isinstance(body, dict) and body.get("kind") == "DataContract":
        raise ConfigError(f"{file}: --write does not change an Open Data Contract")
    declared = _as_json(body) if file.exists() else None
    if base is not None:
        from headwater.plugins.trust._markdown import print_report
        from headwater.plugins.trust._pull_request import Options, report_of

        rules = None if policy is None else _as_json(read_yaml(policy))
        report = report_of(Options(file, declared, base, dialect, rules), client.query)
        client.show(report, print_report)
        return
    answer = _ask(client, "check", {"contract": declared}, file)
    if write:
        import yaml

        text = yaml.safe_dump(answer["contract"], sort_keys=False, allow_unicode=True, width=1000)
        file.write_text(_HEADER + text)
        jobs = counted(len(answer["contract"]["jobs"]), "job")
        print_line(f"Wrote {file}: inputs and outputs of {jobs}.", is_error=True)
        return
    client.show(answer, print_check)
    if not answer["passed"]:
        raise typer.Exit(1)


def _as_json(body: object) -> str:
    return json.dumps(body, default=str)  # YAML also has dates


def _ask(client: Client, name: str, params: Params, file: Path | None) -> Any:
    """Return the answer to a query that gets the content of a file, if one was passed.

    Raises:
        OptionError: an option is invalid.
        ConfigError: the content of the file is invalid; the message names the file.
    """
    try:
        return client.query(name, params)
    except OptionError:
        raise
    except ConfigError as error:
        raise (error if file is None else ConfigError(f"{file}: {error}")) from None


@with_client(past=True)
def health(client: Client) -> None:
    """Show failed, stale and late jobs, failed checks and gaps.

    Exit code 1: there are problems that are neither muted nor acknowledged.

    Example: headwater health --as-of 2026-11-21T08:30
    """
    health = client.query("health", {})
    findings = list(client.items("findings", {}))
    completeness = client.query("completeness", {})
    answer = {**health, "findings": findings, "completeness": completeness}
    client.show(answer, lambda _: print_health(health, findings, completeness))
    if not health["isHealthy"]:
        raise typer.Exit(1)


@with_client(past=True)
def problems(
    client: Client,
    kind: Annotated[str | None, typer.Option(help="Only this kind: failed, late …")] = None,
    owner: Annotated[str | None, typer.Option(help="Only with this owner.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only with this tag, KEY or KEY:VALUE.")] = None,
    platform: Annotated[str | None, typer.Option(help="Only causes of this platform.")] = None,
    age: Annotated[str | None, typer.Option(help="Only of the last hour, day or week; older.")] = (
        None
    ),
    decided: Annotated[
        bool, typer.Option("--decided", help="List muted and acknowledged problems.")
    ] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> None:
    """List problems by cause, with errors and effects.

    The owners and tags are those of the cause and of everything affected.
    Exit code 1: there are problems.

    Example: headwater problems --owner growth
    """
    filters = {"kind": kind, "owner": owner, "tag": tag, "platform": platform, "age": age}
    params = {**filters, "limit": limit, "cursor": cursor, "decided": decided}
    answer = client.print("problems", params, print_problems)
    if answer["items"] and not decided:
        raise typer.Exit(1)


@with_client()
def mute(
    client: Client,
    subject: Subject,
    until: Annotated[
        str | None, typer.Option(help="End, e.g. 2030-01-01 or 18:00. [no end]")
    ] = None,
    note: Note = None,
    kind: Kind = None,
    undo: Annotated[bool, typer.Option("--undo", help="Reopen the finding.")] = False,
) -> None:
    """Mute a finding of health, even if it changes.

    Example: headwater mute ingest_weather_data --until 2030-01-01 --note "New source"
    """
    end = None if until is None else moment(until, "--until")
    state = "open" if undo else "muted"
    _change(client, subject=subject, state=state, kind=kind, until=end, note=note)


@with_client()
def acknowledge(
    client: Client,
    subject: Subject,
    note: Note = None,
    kind: Kind = None,
    undo: Annotated[bool, typer.Option("--undo", help="Reopen the finding.")] = False,
) -> None:
    """Acknowledge a finding of health until it changes.

    Example: headwater acknowledge ingest_weather_data --note "Fixed in the next release"
    """
    state = "open" if undo else "acknowledged"
    _change(client, subject=subject, state=state, kind=kind, note=note)


def _change(client: Client, **new: str | None) -> None:
    """Change the state of a finding on the server or in the log, and print it."""
    changed: HealthFinding
    if client.is_local:
        from headwater.documents import validated
        from headwater.plugins.trust.finding_states import NewFindingState, change_state

        findings = list(client.items("findings", {}))
        with client.log() as log:
            changed = change_state(log, findings, validated(NewFindingState, new, "finding"))
    else:
        changed = client.request("/api/v2/findings", new)
    client.show(changed, print_state)


def doctor(
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    spool: Annotated[Path | None, typer.Option(help="With --database: its spool folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List producers, unread SQL, problems and advice.

    Exit code 1: problems were found; 3: the server is unavailable or rejects the key.

    Example: headwater doctor --url http://localhost:9002
    """
    settings, code = settings_of(url=url, database=database, api_key=api_key, spool=spool), 0
    try:
        answer = _of_server(settings) if database is None else _of_log(settings)
    except ServerError as error:
        answer, code = _unreachable(settings, error), error.exit_code
    if as_json:
        print_json({"target": settings.url if database is None else settings.database, **answer})
    else:
        print_doctor(answer)
    raise typer.Exit(code or int(bool(answer["findings"])))


def _of_server(settings: Settings) -> DoctorAnswer:
    """Return the diagnosis of a server; again after a second if lines of its spool were unread."""
    import time

    from headwater.console.source import request
    from headwater.plugins.trust.models import SPOOL

    received: DoctorAnswer = request(settings, "/api/v2/doctor")
    if any(found["kind"] == SPOOL for found in received["findings"]):
        time.sleep(_RETRY_SECONDS)  # it may have just been written; between two polls of the spool
        received = request(settings, "/api/v2/doctor")
    return received


def _of_log(settings: Settings) -> DoctorAnswer:
    """Return the findings about the log and the spool folder of this machine."""
    from contextlib import closing

    from headwater.collect.spool import SpoolTail, stuck_files
    from headwater.log import EventLog
    from headwater.plugins.trust._doctor import Spool, doctor_answer
    from headwater.projection.live import Live

    with closing(EventLog.of(settings, must_exist=True)) as log:
        live, spool = Live(log, settings.lost_after), Spool()
        if settings.spool is not None and settings.spool.is_dir():
            lag = SpoolTail(live, settings.spool).lag()
            spool = Spool(*lag, stuck_files(settings.spool))
        return doctor_answer(live, spool)


def _unreachable(settings: Settings, error: ServerError) -> DoctorAnswer:
    from headwater.health.findings import finding

    remedy = "start a server, or pass another --url or --api-key"
    found = finding("endpoint", settings.url, str(error), remedy)
    return {"producers": [], "findings": [found], "eventsWithWarnings": 0, "unreadSql": []}


commands = typer.Typer()
for _command in (gate, check, health, problems, mute, acknowledge, doctor):
    commands.command(rich_help_panel="Trust")(_command)
