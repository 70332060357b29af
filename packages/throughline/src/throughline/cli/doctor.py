"""`throughline doctor`: is the server there, what arrives, what is wrong with it, what to do."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rich.text import Text

from throughline.cli.render import localized, moment_of, new_console, print_json
from throughline.cli.source import every, open_source, request
from throughline.config import Settings
from throughline.errors import ServerError
from throughline.words import counted, duration_of

_NEWEST = 1_000  # events of which the odd ones are counted
_PLACE = re.compile(r"[@:]\d+(\[\d+\])?$")  # where in a file a refused line was
_SHOWN = 10  # findings of a kind
_LOOK_AGAIN = 1.0  # seconds in which a server should have drained its spool


def examine(settings: Settings, *, is_local: bool, as_json: bool) -> int:
    """Print what is found; answers the exit code."""
    code = 0
    answer: dict[str, Any] = {"asked": settings.database if is_local else settings.url}
    try:
        answer |= open_source(settings, is_local=is_local)("doctor", {})
        intake, answer["oddEvents"] = (_of_log if is_local else _of_server)(settings)
        answer["findings"] = intake + answer["findings"]
    except ServerError as error:
        answer |= {"producers": [], "findings": [_finding("endpoint", settings.url, str(error))]}
        code = error.exit_code
    (print_json if as_json else print_doctor)(answer)
    return code or int(bool(answer["findings"]))


def print_doctor(answer: dict[str, Any]) -> None:
    """Producers, a line each; then what is wrong by its kind, each kind with what to do."""
    console = new_console()
    for each in answer["producers"]:
        last = datetime.fromisoformat(each["lastEventAt"])
        ago = duration_of(round((time.time() - last.timestamp()) * 1_000))
        told = f"  last event {moment_of(each['lastEventAt'])}, {ago} ago"
        told += f"  {counted(each['runs'], 'run')}"
        console.print(Text.assemble((each["name"], "bold"), told))
    if answer.get("oddEvents"):
        console.print(f"{answer['oddEvents']} of the newest events are odd: GET /api/v2/events/odd")
    kinds: dict[str, list[dict[str, Any]]] = {}
    for finding in answer["findings"]:
        kinds.setdefault(finding["kind"], []).append(finding)
    for kind, found in kinds.items():
        console.print(Text(f"{kind}: {len(found)}", "red"))
        for finding in found[:_SHOWN]:
            seen = localized(finding["seen"])
            console.print(Text.assemble("  ", (finding["about"], "bold"), f"  {seen}"))
        if len(found) > _SHOWN:
            console.print(Text(f"  … and {len(found) - _SHOWN} more (--json)", "dim"))
        if found[0]["advice"]:
            console.print(Text(f"  → {found[0]['advice']}", "yellow"))
    if not kinds:
        console.print("Nothing is wrong.", style="green")


def _of_server(settings: Settings) -> tuple[list[dict[str, Any]], int]:
    """What is wrong with what the server takes in, and how many of its newest events are odd."""
    spool = request(settings, "/healthz").get("spool", {})
    if spool.get("lagBytes"):  # which may be what has just been written
        time.sleep(_LOOK_AGAIN)  # between two looks at the spool
        spool = request(settings, "/healthz")["spool"]
    lag = spool.get("lagBytes", 0), spool.get("unendedBytes", 0)
    odd = request(settings, "/api/v2/events/odd?limit=1000")["items"]
    stuck = request(settings, "/api/v2/stuck")["items"] if spool.get("stuckFiles") else ()
    ask = open_source(settings, is_local=False)
    return _intake(settings.program, lag, stuck, list(every(ask, "refused", {}))), len(odd)


def _of_log(settings: Settings) -> tuple[list[dict[str, Any]], int]:
    from throughline.collect import SpoolTail, stuck_files
    from throughline.log import EventLog
    from throughline.projection.live import Live

    log = EventLog(settings.database, must_exist=True)
    try:
        lag, stuck = (0, 0), list[dict[str, Any]]()
        if settings.spool is not None and settings.spool.is_dir():
            lag = SpoolTail(Live(log), settings.spool).lag()
            stuck = [file._asdict() for file in stuck_files(settings.spool)]
        odd = sum(_is_odd(text) for _, text in log.latest(None, _NEWEST))
        refused = [{"source": refusal.source} for refusal in log.rejected_lines()]
        return _intake(settings.program, lag, stuck, refused), odd
    finally:
        log.close()


def _is_odd(text: str) -> bool:
    from throughline.errors import EventError
    from throughline.spec import event_warnings, load

    try:
        body = load(text)
    except EventError:
        return False  # a damaged row, which is a separate finding
    return isinstance(body, dict) and any(True for _ in event_warnings(body))


def _intake(
    program: str,
    lag: tuple[int, int],
    stuck: Sequence[dict[str, Any]],
    refused: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    advice = "correct or remove the file; the other files of the folder are read"
    found = [_finding("stuck file", file["file"], file["reason"], advice) for file in stuck]
    behind, unended = lag
    if unended:
        seen = f"the last line of a file has no end yet: {counted(unended, 'byte')}"
        advice = "its producer is still writing it, or was killed: end or remove the line by hand"
        found.append(_finding("spool", "the spool folder", seen, advice))
    if behind > unended:
        advice = f"see that `{program} serve --spool` runs and may read the files; its log says why"
        seen = f"{counted(behind - unended, 'byte')} not taken in"
        found.append(_finding("spool", "the spool folder", seen, advice))
    if refused:
        files = sorted({_PLACE.sub("", line["source"]) for line in refused})
        seen = f"{counted(len(refused), 'line')} could not be placed, of {', '.join(files[:3])}"
        advice = "GET /api/v2/refused tells of each why; correct whoever wrote it"
        found.append(_finding("refused", "the spool folder", seen, advice))
    return found


def _finding(kind: str, about: str, seen: str, advice: str = "") -> dict[str, Any]:
    return {"kind": kind, "about": about, "seen": seen, "advice": advice}
