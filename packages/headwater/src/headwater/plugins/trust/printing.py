"""Print health, gates, contracts and findings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from headwater.console.render import age_of, localized, moment_of, new_console
from headwater.text import counted, unchecked_lateness

if TYPE_CHECKING:
    from headwater.health.models import Finding
    from headwater.plugins.trust import models

_SHOWN = 10  # findings of a kind
_STYLES = {"error": "red", "warning": "yellow"}


def print_findings(findings: Iterable[Finding], console: Console | None = None) -> None:
    """Print findings by kind; equal remedies of consecutive findings are printed once.

    At most ten of a kind are printed. `console` continues an output; None starts a new one.
    """
    console = console or new_console()
    kinds: dict[str, list[Finding]] = {}
    for found in findings:
        kinds.setdefault(found["kind"], []).append(found)
    for kind, group in kinds.items():
        console.print(Text(f"{kind}: {len(group)}", _STYLES[group[0]["severity"]]))
        for found, following in zip_longest(group[:_SHOWN], group[1:_SHOWN]):
            place = ".".join(filter(None, (found["subject"], found["column"])))
            line = Text.assemble("  ", (place, "bold"), f"  {localized(found['message'])}")
            line.append(f"  {found['runId']}" if found["runId"] else "", "dim")
            console.print(line.append("  (muted)" if found.get("isMuted") else "", "yellow"))
            if following and following["remedy"] != found["remedy"]:
                console.print(Text(f"  → {found['remedy']}", "yellow"))
        if len(group) > _SHOWN:
            console.print(Text(f"  … and {len(group) - _SHOWN} more (--json)", "dim"))
        console.print(Text(f"  → {group[:_SHOWN][-1]['remedy']}", "yellow"))


def print_problems(answer: models.ProblemsAnswer) -> None:
    """Print each problem with its error, what was not rebuilt, and its pages."""
    console = new_console()
    for problem in answer["items"]:
        name, at = problem["cause"]["name"], problem["at"]
        line = Text.assemble((name, "bold"), f" {localized(problem['message'])}")
        line.stylize(_STYLES[problem["severity"]], 0, len(name))
        line.append(f"  {age_of(at)} ago" if at else "", "dim")
        console.print(line)
        for text in problem["error"]:
            console.print(Text(f"  {text}"), soft_wrap=True)
        if affected := _affected_text(problem):
            console.print(Text(f"  {affected}", "yellow"))
        for link in problem["links"]:
            console.print(Text(f"  {link['name']}: {link['url']}", "dim"), soft_wrap=True)
        if problem["state"] != "open":
            console.print(Text(f"  {problem['state']}  {problem['note'] or ''}".rstrip(), "dim"))
        console.print(Text(f"  → {problem['remedy']}", "yellow"))
    if answer["uncounted"]:
        console.print(unchecked_lateness(answer["uncounted"]))
    elif not answer["items"]:
        console.print("No problems.", style="green")
    if answer["decided"]:
        console.print(Text(f"{answer['decided']} muted or acknowledged (--decided)", "dim"))


def _affected_text(problem: models.Problem) -> str:
    """Return the numbers of datasets not rebuilt, jobs not run, views and exposures, and owners."""
    parts = (
        [f"{counted(problem['datasets'], 'dataset')} not rebuilt"] if problem["datasets"] else []
    )
    parts += [f"{counted(problem['jobs'], 'job')} not run"] if problem["jobs"] else []
    parts += [f"{counted(problem['views'], 'view')} affected"] if problem["views"] else []
    parts += [f"{counted(problem['exposures'], 'exposure')} affected"] * bool(problem["exposures"])
    parts += [f"owners: {', '.join(problem['owners'])}"] if problem["owners"] else []
    return "; ".join(parts)


def print_gate(answer: models.GateAnswer) -> None:
    """Print whether each dataset passed, and the rules that it violates with their places."""
    console = new_console()
    for dataset in answer["datasets"]:
        result, style = ("PASSED", "green") if dataset["passed"] else ("FAILED", "red")
        console.print(Text.assemble((result, style), f"  {dataset['id'].removeprefix('dataset:')}"))
        print_findings(dataset["violations"], console)


def print_check(answer: models.CheckAnswer) -> None:
    """Print the differences from the contract."""
    print_findings(answer["findings"])
    if answer["passed"]:
        new_console().print("Lineage matches the contract.")


def print_health(
    health: models.HealthAnswer,
    findings: list[models.HealthFinding],
    completeness: models.CompletenessAnswer,
) -> None:
    """Print the problems, then the gaps of the lineage."""
    console = new_console()
    counts = health["counts"]
    size = f"{counted(counts['jobs'], 'job')}, {counted(counts['runs'], 'run')}"
    size += f", {counted(counts['datasets'], 'dataset')}"
    result, style = ("No problems", "green") if health["isHealthy"] else ("Problems found", "red")
    if health["isHealthy"] is None:
        result, style = "No problems found yet", "yellow"
    if health["isHealthy"] and counts["warnings"]:
        result, style = f"No errors, but {counted(counts['warnings'], 'warning')}", "yellow"
    console.print(Text.assemble((result, style), f" in {size}."))
    if health["uncounted"]:
        console.print(unchecked_lateness(health["uncounted"]))
    print_findings((found for found in findings if found["state"] == "open"), console)
    for found in findings:
        if found["state"] != "open":
            console.print(_state_text(found))
    measures = completeness["measures"]
    shares = [_share(name, measure) for name, measure in measures.items() if measure["findings"]]
    if shares:
        text = f"Incomplete lineage in the newest runs of each job: {'; '.join(shares)}."
        console.print(Text(text, "yellow"))
    for measure in measures.values():
        print_findings(measure["findings"], console)
    print_findings(completeness["orphans"], console)


_REPORTED = {
    "inputs": "inputs",
    "outputs": "outputs",
    "columns": "column lineage",
    "code": "a code location",
    "ends": "an end event",
}


def _share(name: str, measure: models.MeasureResult) -> str:
    """Return how many of the runs that a measure applies to reported what it is about."""
    runs, share = counted(measure["runs"], "run"), measure["share"]
    if share is None:
        unknown = f"{measure['unknownRuns']:,} of {runs}"
        return f"unknown whether {unknown} report {_REPORTED[name]}"
    return f"{share:.0%} of {runs} report {_REPORTED[name]}"


def print_state(found: models.HealthFinding) -> None:
    """Print a finding and its new state."""
    new_console().print(_state_text(found))


def _state_text(found: models.HealthFinding) -> Text:
    """Return the state of a finding, its subject and kind, and until when and why.

    The state comes first, since the line is about it.
    """
    until = f" until {moment_of(found['mutedUntil'])}" if found["mutedUntil"] else ""
    note = f"  {found['note']}" if found["note"] else ""
    style = "yellow" if found["state"] == "open" else "dim"
    state = Text(f"{found['state']}{until}: ", style)
    return state.append(f"{found['kind']}  ").append(found["subject"], "bold").append(note)


def print_doctor(answer: models.DoctorAnswer) -> None:
    """Print one producer per line, then the findings."""
    console = new_console()
    for producer in answer["producers"]:
        line = Text(producer["name"], "bold")
        if at := producer["lastEventAt"]:
            is_past = datetime.fromisoformat(at) <= datetime.now().astimezone()
            age = f"{age_of(at)} ago" if is_past else "in the future"
            line.append(f"  last event {moment_of(at)}, {age}", "not bold")
        console.print(line.append(f"  {counted(producer['runs'], 'run')}", "not bold"))
    if warnings := answer["eventsWithWarnings"]:
        console.print(f"Newest events with warnings: {warnings:,} (GET /api/v2/events/warnings)")
    for item in answer["unreadSql"]:
        line = Text("SQL not read: ", "yellow").append(item["job"], "bold")
        line.append(f"  {counted(item['texts'], 'text')} of {item['producer']}: {item['reason']}")
        console.print(line, soft_wrap=True)
        if item["sql"]:
            console.print(Text(f"  {item['sql']}", "dim"), soft_wrap=True)
    print_findings(answer["findings"], console)
    if not answer["findings"]:
        other = "other " if answer["unreadSql"] or answer["eventsWithWarnings"] else ""
        style = "none" if other else "green"
        console.print(f"No {other}problems with lineage reporting found.", style=style)
