"""`throughline doctor`: check the server, the received lineage and the spool."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from throughline.console.render import localized, moment_of, new_console, print_json
from throughline.console.source import every, open_source, request
from throughline.console.text import counted, duration_of
from throughline.errors import ServerError
from throughline.settings import Settings

if TYPE_CHECKING:
    from typing import NotRequired

    from throughline.http.models import Healthz, RejectedLine, SpoolHealth, StuckFile
    from throughline.trust.models import DoctorAnswer, Finding

    class Examination(DoctorAnswer):
        """The answer of the server with what only this machine can see."""

        target: str
        """URL or log that was examined."""
        eventsWithWarnings: NotRequired[int]
        """Number among the newest events."""


_NEWEST = 1_000  # events that are searched for warnings
_PLACE = re.compile(r"[@:]\d+(\[\d+\])?$")  # place in a file
_SHOWN = 10  # findings of a kind
_STYLES = {"error": "red", "warning": "yellow"}
_RETRY_SECONDS = 1.0  # in which a server should have drained its spool


def examine(settings: Settings, *, is_local: bool, as_json: bool) -> int:
    """Print the findings; return the exit code."""
    code = 0
    target = settings.database if is_local else settings.url
    answer: Examination
    try:
        received: DoctorAnswer = open_source(settings, is_local=is_local)("doctor", {})
        intake, warnings = (_of_log if is_local else _of_server)(settings)
        answer = {
            "target": target,
            "producers": received["producers"],
            "findings": intake + received["findings"],
            "eventsWithWarnings": warnings,
        }
    except ServerError as error:
        finding = _finding("error", "endpoint", settings.url, str(error))
        answer = {"target": target, "producers": [], "findings": [finding]}
        code = error.exit_code
    (print_json if as_json else print_doctor)(answer)
    return code or int(bool(answer["findings"]))


def print_doctor(answer: Examination) -> None:
    """Print one producer per line; then the findings by kind, each kind with its remedy."""
    console = new_console()
    for producer in answer["producers"]:
        line = Text(producer["name"], "bold")
        if at := producer["lastEventAt"]:
            ago = duration_of(round((time.time() - datetime.fromisoformat(at).timestamp()) * 1_000))
            line.append(f"  last event {moment_of(at)}, {ago} ago", "not bold")
        console.print(line.append(f"  {counted(producer['runs'], 'run')}", "not bold"))
    if warnings := answer.get("eventsWithWarnings"):
        console.print(f"{warnings} of the newest events have warnings: GET /api/v2/events/warnings")
    kinds: dict[str, list[Finding]] = {}
    for finding in answer["findings"]:
        kinds.setdefault(finding["kind"], []).append(finding)
    for kind, findings in kinds.items():
        console.print(Text(f"{kind}: {len(findings)}", _STYLES[findings[0]["severity"]]))
        for finding in findings[:_SHOWN]:
            message = localized(finding["message"])
            console.print(Text.assemble("  ", (finding["subject"], "bold"), f"  {message}"))
        if len(findings) > _SHOWN:
            console.print(Text(f"  … and {len(findings) - _SHOWN} more (--json)", "dim"))
        if remedy := findings[0]["remedy"]:
            console.print(Text(f"  → {remedy}", "yellow"))
    if not kinds:
        console.print("No problems found.", style="green")


def _of_server(settings: Settings) -> tuple[list[Finding], int]:
    """Return the findings about a server's intake, and the number of events with warnings."""
    spool = _spool(settings)
    if spool["lagBytes"]:  # which may have just been written
        time.sleep(_RETRY_SECONDS)  # between two polls of the spool
        spool = _spool(settings)
    lag = spool["lagBytes"], spool["unendedBytes"]
    warnings = request(settings, "/api/v2/events/warnings?limit=1000")["items"]
    stuck = request(settings, "/api/v2/stuck")["items"] if spool["stuckFiles"] else []
    rejected: list[RejectedLine] = list(
        every(open_source(settings, is_local=False), "rejected", {})
    )
    sources = [line["source"] for line in rejected]
    return _intake(settings.program, lag, stuck, sources), len(warnings)


def _spool(settings: Settings) -> SpoolHealth:
    health: Healthz = request(settings, "/healthz")
    if "spool" not in health:
        return {"lagBytes": 0, "unendedBytes": 0, "stuckFiles": 0}
    return health["spool"]


def _of_log(settings: Settings) -> tuple[list[Finding], int]:
    from throughline.collect.spool import SpoolTail, stuck_files
    from throughline.log import EventLog
    from throughline.projection.live import Live

    log = EventLog(settings.database, must_exist=True)
    try:
        lag = 0, 0
        stuck: list[StuckFile] = []
        if settings.spool is not None and settings.spool.is_dir():
            lag = SpoolTail(Live(log), settings.spool).lag()
            files = stuck_files(settings.spool)
            stuck = [{"file": file.file, "reason": file.reason} for file in files]
        warnings = sum(_has_warnings(text) for _, text in log.latest(None, _NEWEST))
        sources = [line.source for line in log.rejected_lines()]
        return _intake(settings.program, lag, stuck, sources), warnings
    finally:
        log.close()


def _has_warnings(text: str) -> bool:
    from throughline.errors import EventError
    from throughline.events import event_warnings, load

    try:
        body = load(text)
    except EventError:
        return False  # a damaged row, which is a separate finding
    return isinstance(body, dict) and any(True for _ in event_warnings(body))


def _intake(
    program: str, lag: tuple[int, int], stuck: Sequence[StuckFile], rejected: Sequence[str]
) -> list[Finding]:
    """Return the findings about a spool: `lag` in bytes, `rejected` the places of lines."""
    remedy = "correct or remove the file; the other files of the folder are read"
    findings = [
        _finding("error", "unreadable file", file["file"], file["reason"], remedy) for file in stuck
    ]
    behind, unended = lag
    if unended:
        message = f"the last line of a file is incomplete: {counted(unended, 'byte')}"
        remedy = "its producer is still writing it or was killed: complete or remove the line"
        findings.append(_finding("warning", "spool", "the spool folder", message, remedy))
    if behind > unended:
        remedy = f"check that `{program} serve --spool` runs and can read the files; see its log"
        message = f"{counted(behind - unended, 'byte')} not ingested"
        findings.append(_finding("warning", "spool", "the spool folder", message, remedy))
    if rejected:
        files = sorted({_PLACE.sub("", place) for place in rejected})
        message = f"{counted(len(rejected), 'line')} rejected, from {', '.join(files[:3])}"
        remedy = "GET /api/v2/rejected lists the reasons; correct the producer"
        findings.append(_finding("error", "rejected lines", "the spool folder", message, remedy))
    return findings


def _finding(
    severity: Literal["error", "warning"], kind: str, subject: str, message: str, remedy: str = ""
) -> Finding:
    return {
        "severity": severity,
        "kind": kind,
        "subject": subject,
        "message": message,
        "remedy": remedy,
    }
