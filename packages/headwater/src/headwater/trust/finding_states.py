"""The states of findings: open, acknowledged or muted; stored in the log's database.

A finding is identified by its kind and subject. A muted one stays muted, even if it changes, until
the given end. An acknowledged one is open again once its content changes, e.g. with the next failed
run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import orjson
from pydantic import BaseModel, Field
from sqlalchemy import delete, insert, select

from headwater.errors import ConfigError, NotFoundError
from headwater.events import shown_time
from headwater.log import schema
from headwater.log.store import EventLog
from headwater.query.models import Page
from headwater.query.registry import micros_of
from headwater.redaction import redact_text
from headwater.trust._health import HealthWithFindings, open_counts
from headwater.trust.findings import name_of_subject
from headwater.trust.models import FindingState, HealthAnswer, HealthCounts, HealthFinding

_NEAREST = 5


class NewFindingState(BaseModel):
    """The new state of a finding of `GET /api/v2/findings`."""

    subject: str = Field(examples=["job:shop:shop_daily"], description="Id or name of the node.")
    state: FindingState = Field(examples=["muted"])
    kind: str | None = Field(
        default=None, examples=["failed"], description="Required if several findings match."
    )
    until: str | None = Field(
        default=None,
        examples=["2125-11-28T08:30:00Z"],
        description="End of the state `muted`; null: no end.",
    )
    note: str | None = Field(default=None, max_length=1_000, examples=["Moved to another server"])


def with_states(log: EventLog, now: int, answer: Page[HealthFinding]) -> Page[HealthFinding]:
    """Return a page of findings with their stored states."""
    return {**answer, "items": _with_states(log, now, answer["items"])}


def open_health(log: EventLog, now: int, answer: HealthWithFindings) -> HealthAnswer:
    """Return health without the findings that are muted or acknowledged."""
    errors, warnings = open_counts(_with_states(log, now, answer["findings"]))
    counts: HealthCounts = {**answer["counts"], "errors": errors, "warnings": warnings}
    return {"at": answer["at"], "isHealthy": not errors, "counts": counts}


def muted_findings(log: EventLog, now: int) -> set[tuple[str, str]]:
    """Return the kinds and subjects of the muted findings, at a time in microseconds."""
    table = schema.finding_states
    lasts = table.c.until.is_(None) | (table.c.until > now)
    query = select(table.c.kind, table.c.subject).where(table.c.state == "muted", lasts)
    return {(row.kind, row.subject) for row in log.fetch(query)}


def change_state(
    log: EventLog, findings: Sequence[HealthFinding], change: NewFindingState
) -> HealthFinding:
    """Store the state of one of the findings; return the finding with it.

    Raises:
        ConfigError: `until` is not in the future or not allowed, or several findings match.
        NotFoundError: no finding matches; `nearest` are the subjects of all findings.
    """
    found = _matching(findings, change)
    now = time.time_ns() // 1_000
    until = None if change.until is None else micros_of(change.until, "until")
    if until is not None and change.state != "muted":
        raise ConfigError(f"until: received an end for {change.state!r}; only `muted` can have one")
    if until is not None and until <= now:
        raise ConfigError(f"until: received {change.until!r}, expected a time in the future")
    note = redact_text(change.note) if change.note else None
    with log.writing() as connection:
        table = schema.finding_states
        connection.execute(delete(table).where(table.c.id == _id(found)))
        if change.state == "open":
            return {**found, "state": "open", "note": None, "mutedUntil": None}
        row = {
            "id": _id(found),
            "kind": found["kind"],
            "subject": found["subject"],
            "state": change.state,
            "fingerprint": _fingerprint(found),
            "until": until,
            "note": note,
            "changed_at": now,
        }
        connection.execute(insert(table).values(row))
    return {**found, "state": change.state, "note": note, "mutedUntil": shown_time(until)}


def _with_states(log: EventLog, now: int, findings: Sequence[HealthFinding]) -> list[HealthFinding]:
    stored = {row.id: row for row in log.fetch(select(schema.finding_states))}
    return [_with_state(found, stored.get(_id(found)), now) for found in findings]


def _matching(findings: Sequence[HealthFinding], change: NewFindingState) -> HealthFinding:
    matches = [
        found
        for found in findings
        if change.subject in (found["subject"], name_of_subject(found))
        and change.kind in (None, found["kind"])
    ]
    if not matches:
        kind = f" of kind {change.kind!r}" if change.kind else ""
        nearest = list(dict.fromkeys(found["subject"] for found in findings))[:_NEAREST]
        raise NotFoundError(f"there is no finding{kind} about {change.subject!r}", nearest)
    if len(matches) > 1:
        choices = ", ".join(f"{found['kind']} {found['subject']}" for found in matches)
        raise ConfigError(
            f"subject: {len(matches)} findings are about {change.subject!r} ({choices});"
            " give the kind or the id of the subject"
        )
    return matches[0]


def _with_state(found: HealthFinding, row: Any, now: int) -> HealthFinding:
    if row is None:
        return found
    is_over = row.until is not None and row.until <= now
    is_changed = row.state == "acknowledged" and row.fingerprint != _fingerprint(found)
    if is_over or is_changed:
        return found
    return {**found, "state": row.state, "note": row.note, "mutedUntil": shown_time(row.until)}


def _id(found: HealthFinding) -> str:
    return sha256(orjson.dumps([found["kind"], found["subject"]])).hexdigest()


def _fingerprint(found: HealthFinding) -> str:
    content = [found["column"], found["message"], found["runId"], found["at"]]
    return sha256(orjson.dumps(content)).hexdigest()
