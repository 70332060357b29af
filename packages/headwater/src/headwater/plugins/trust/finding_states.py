"""The states of findings: open, acknowledged or muted; stored in the log's database.

A finding is identified by its kind and subject. A muted one stays muted, even if it changes, until
the given end. An acknowledged one is open again once its content changes, e.g. with the next failed
run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import orjson
from pydantic import BaseModel, Field
from sqlalchemy import delete, insert, select

from headwater.errors import ConfigError, NotFoundError
from headwater.events import shown_time
from headwater.health.findings import name_of_subject
from headwater.health.models import Finding
from headwater.log.store import EventLog
from headwater.plugins.trust import tables
from headwater.plugins.trust.models import FindingState, HealthFinding
from headwater.query.registry import micros_of

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


@dataclass(frozen=True, slots=True)
class StoredState:
    """The stored state of a finding; `until` is in microseconds, None for no end.

    `fingerprint` identifies the content of the finding when it was stored: column, message, run and
    time. An acknowledged finding with another one has changed.
    """

    kind: str
    subject: str
    state: FindingState
    fingerprint: str
    until: int | None
    note: str | None


@dataclass(frozen=True, slots=True)
class FindingStates:
    """The stored states by the id of the finding; a finding without one is open."""

    by_id: Mapping[str, StoredState] = field(default_factory=dict)

    def of(self, finding: Finding, now: int) -> HealthFinding:
        """Return a finding with its state at a time in microseconds.

        A state whose end has passed, and one of a finding that has changed since, counts as open.
        """
        stored = self.by_id.get(_id(finding))
        is_over = stored is None or (stored.until is not None and stored.until <= now)
        if stored is None or is_over:
            return open_finding(finding)
        if stored.state == "acknowledged" and stored.fingerprint != _fingerprint(finding):
            return open_finding(finding)
        until = shown_time(stored.until)
        return {**finding, "state": stored.state, "note": stored.note, "mutedUntil": until}

    def muted(self, now: int) -> set[tuple[str, str]]:
        """Return the kinds and subjects of the muted findings, at a time in microseconds."""
        return {
            (stored.kind, stored.subject)
            for stored in self.by_id.values()
            if stored.state == "muted" and (stored.until is None or stored.until > now)
        }


ALL_OPEN = FindingStates()


def open_finding(finding: Finding) -> HealthFinding:
    """Return a finding with the state `open`."""
    return {**finding, "state": "open", "note": None, "mutedUntil": None}


def stored_states(log: EventLog) -> FindingStates:
    """Read the stored states of findings."""
    return FindingStates(
        {
            row.id: StoredState(
                row.kind, row.subject, row.state, row.fingerprint, row.until, row.note
            )
            for row in log.fetch(select(tables.finding_states))
        }
    )


def muted(log: EventLog, now: int) -> set[tuple[str, str]]:
    """Return the kinds and subjects of the muted findings, at a time in microseconds."""
    return stored_states(log).muted(now)


def change_state(
    log: EventLog, findings: Sequence[Finding], change: NewFindingState
) -> HealthFinding:
    """Store the state of one of the findings; return the finding with it.

    Raises:
        ConfigError: `until` is not in the future or not allowed, or several findings match.
        NotFoundError: no finding matches; `nearest` has subjects of findings.

    `findings` are all present findings. A note may contain a secret, which is masked.
    """
    found = _matching(findings, change)
    now = time.time_ns() // 1_000
    until = None if change.until is None else micros_of(change.until, "until")
    if until is not None and change.state != "muted":
        raise ConfigError(f"until: received an end for {change.state!r}; only `muted` can have one")
    if until is not None and until <= now:
        raise ConfigError(f"until: received {change.until!r}, expected a time in the future")
    note = log.redactor.redact_text(change.note) if change.note else None
    with log.writing() as connection:
        table = tables.finding_states
        connection.execute(delete(table).where(table.c.id == _id(found)))
        if change.state == "open":
            return open_finding(found)
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


def _matching(findings: Sequence[Finding], change: NewFindingState) -> Finding:
    """Return the only finding that a user means by its subject, and by its kind if given.

    Raises:
        NotFoundError: there is none.
        ConfigError: there are several.
    """
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


def _id(found: Finding) -> str:
    return sha256(orjson.dumps([found["kind"], found["subject"]])).hexdigest()


def _fingerprint(found: Finding) -> str:
    content = [found["column"], found["message"], found["runId"], found["at"]]
    return sha256(orjson.dumps(content)).hexdigest()
