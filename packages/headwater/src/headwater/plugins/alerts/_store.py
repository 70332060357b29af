"""Fired alerts and their pending actions, stored in the log's database.

A cause is the key of one violation of a rule, such as the id of a failed run. Each stored cause has
a row with the finding; `pending` lists the actions of the rule that are still to be done.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import delete, insert, select, tuple_, update

from headwater.events import shown_time
from headwater.health.findings import finding
from headwater.health.models import Finding
from headwater.log.store import EventLog
from headwater.plugins.alerts import tables

_MUTED = "the finding was muted: no action was performed"


class Alert(Finding):
    """A finding that violates an alert rule, as actions receive it."""

    rule: str
    firedAt: str | None


class AlertInfo(Alert):
    """An alert with the state of its actions."""

    isPending: bool
    """True while an action is still to be done."""
    error: str | None
    """Why an action was given up, or not performed because the finding is muted."""


@dataclass(frozen=True, slots=True)
class FiredAlert:
    """A finding, the indices of its pending actions, and the error of a failed one.

    `fired_at` is in microseconds. `pending` are places in the `actions` of the rule.
    """

    rule: str
    cause: str
    finding: Finding
    fired_at: int
    pending: tuple[int, ...]
    error: str | None


class Alerts:
    """The alerts of one log. A rule fires once per cause; the cause stays stored.

    Causes are the keys that the functions of `_causes` return.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def causes(self, rule: str) -> set[str] | None:
        """Return the causes for which a rule fired; None if the rule is new.

        The cause "" only shows that a rule was started (`begin`), also if it never fired.
        """
        table = tables.alerts
        rows = self._log.fetch(select(table.c.cause).where(table.c.rule == rule))
        causes = {row.cause for row in rows}
        return causes - {""} if causes else None

    def fire(
        self,
        rule: str,
        found: Mapping[str, Finding],
        actions: Sequence[int],
        muted: Collection[tuple[str, str]] = (),
    ) -> None:
        """Store the findings of causes with their pending actions; muted findings have none.

        `found` has findings by cause. `actions` are the indices of the rule's actions, and `muted`
        has kinds and subjects of findings. A stored cause must not be passed again.
        """
        redact = self._log.redactor.redact
        is_muted = {key: (item["kind"], item["subject"]) in muted for key, item in found.items()}
        rows = [
            {
                "rule": rule,
                "cause": cause,
                "body": orjson.dumps(redact(cause_finding)).decode(),
                "fired_at": time.time_ns() // 1_000,
                "pending": "" if is_muted[cause] else ",".join(map(str, actions)),
                "error": _MUTED if is_muted[cause] else None,
            }
            for cause, cause_finding in found.items()
        ]
        if rows:
            with self._log.writing() as connection:
                connection.execute(insert(tables.alerts), rows)

    def begin(self, rule: str, found: Mapping[str, Finding]) -> None:
        """Start a rule; its current causes trigger no actions."""
        started = finding("rule", rule, "is checked from now on", "")
        self.fire(rule, {"": started, **found}, ())

    def done(self, fired: FiredAlert, action: int, error: str | None = None) -> None:
        """Record that an action is done, or why it failed.

        `action` is its index. Other processes may have finished others meanwhile.
        """
        table = tables.alerts
        with self._log.writing() as connection:
            pending = connection.execute(select(table.c.pending).where(*_key_of(fired))).scalar()
            remaining = [index for index in (pending or "").split(",") if index != str(action)]
            values = {
                "pending": ",".join(remaining),
                **({"error": self._log.redactor.redact_text(error)} if error else {}),
            }
            connection.execute(update(table).where(*_key_of(fired)).values(**values))

    def forget(self, rule: str, causes: Iterable[str]) -> None:
        """Delete causes that are resolved, so that the rule can fire for them again."""
        table = tables.alerts
        if past := list(causes):
            with self._log.writing() as connection:
                rows = (table.c.rule == rule, table.c.cause.in_(past))
                connection.execute(delete(table).where(*rows))

    def pending(self) -> list[FiredAlert]:
        """Return the alerts with pending actions, oldest first."""
        table = tables.alerts
        query = select(table).where(table.c.pending != "").order_by(table.c.fired_at)
        return [_fired(row) for row in self._log.fetch(query)]

    def newest(self, limit: int, before: tuple[Any, ...] | None = None) -> list[FiredAlert]:
        """Return the latest alerts, newest first, before a (time, rule, cause).

        `before` is the place of the last alert of the previous page; the time is in microseconds.
        """
        table = tables.alerts
        order = (table.c.fired_at, table.c.rule, table.c.cause)
        query = select(table).where(table.c.cause != "").order_by(*(c.desc() for c in order))
        if before is not None:
            query = query.where(tuple_(*order) < tuple_(*before))
        return [_fired(row) for row in self._log.fetch(query.limit(limit))]


def alert_of(fired: FiredAlert) -> Alert:
    """Return an alert as actions receive it and as `/api/v2/alerts` lists it."""
    return {**fired.finding, "rule": fired.rule, "firedAt": shown_time(fired.fired_at)}


def _key_of(fired: FiredAlert) -> tuple[Any, Any]:
    """Return the conditions that select the row of an alert."""
    return tables.alerts.c.rule == fired.rule, tables.alerts.c.cause == fired.cause


def _fired(row: Any) -> FiredAlert:
    """Return an alert from its row."""
    pending = tuple(int(index) for index in row.pending.split(",") if index)
    body = orjson.loads(row.body)
    return FiredAlert(row.rule, row.cause, body, row.fired_at, pending, row.error)
