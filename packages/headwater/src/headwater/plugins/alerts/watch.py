"""Check the alert rules after new events and every minute, and perform their actions.

The first check of a rule only records the existing causes. Afterwards, a new cause is stored
together with its pending actions, and each action is marked when it is done. So a restart neither
loses nor repeats an alert, except for an action that was interrupted.

Standing kinds, such as `late` and `lost`, depend on the time as well as on events. They are checked
every minute, or less often if that takes long.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress

from headwater.errors import DeliveryError, EventError, UnavailableError
from headwater.events import DatasetEvent, Event, RunEvent
from headwater.health.findings import name_of_subject
from headwater.health.models import Finding
from headwater.identity import DatasetName, canonical_name
from headwater.log import read_entry, storable
from headwater.plugin import load_all, parts
from headwater.plugins.alerts._causes import OF_EVENTS, ONCE, Cause, Changed
from headwater.plugins.alerts._store import Alerts, FiredAlert, alert_of
from headwater.plugins.alerts.rules import Rule, read_rules
from headwater.posting import Backoff
from headwater.projection import Run, RunKey, State
from headwater.projection.live import Live
from headwater.settings import Settings
from headwater.worker import ThreadedWorker

log = logging.getLogger(__name__)

_LEAST_SECONDS = 1.0
_MOST_SECONDS = 60.0
_STANDING_SECONDS = 60.0
_STOP_SECONDS = 2.0
_STANDING_SHARE = 50
_GIVE_UP_MICROS = 24 * 3_600 * 1_000_000


class Watch(ThreadedWorker):
    """Checks rules: once by `check`, or in a thread from `start` to `stop`."""

    def __init__(self, rules: Sequence[Rule], live: Live, backoff: Backoff | None = None) -> None:
        """Create it and check the rules once; new rules store their existing causes."""
        super().__init__("alerts", _STOP_SECONDS)
        self._rules = {rule.name: rule for rule in rules}
        self._finders = {kind: part.load() for kind, part in parts("alerts").items()}
        self._mutes = load_all("mutes")
        self._live = live
        self._alerts = Alerts(live.log)
        self._backoff = backoff or Backoff(first=1, most=600)
        self._tries = 0
        self._not_before = 0.0
        self._seq: int | None = None  # None: the first check includes everything
        self._standing_at = 0.0
        self._fired = {name: self._alerts.causes(name) for name in self._rules}
        self.check()

    def check(self) -> None:
        """Store the causes that appeared since the last check."""
        newest = self._live.newest
        began = time.monotonic()
        is_standing = began >= self._standing_at
        changed = None if self._seq is None else self._changed(self._seq, newest)
        with self._live.reading() as state:
            found = {
                rule.name: list(self._finders[rule.kind](state, rule, _changes(state, changed)))
                for rule in self._rules.values()
                if is_standing or rule.kind in OF_EVENTS
            }
            muted = {key for mutes in self._mutes for key in mutes(self._live.log, state.now)}
        for name, causes in found.items():
            self._record(self._rules[name], causes, muted)
        self._seq = newest
        if is_standing:  # slow checks run rarely: they block queries and writes
            took = time.monotonic() - began
            self._standing_at = time.monotonic() + max(_STANDING_SECONDS, _STANDING_SHARE * took)

    def act(self) -> None:
        """Perform pending actions; retries wait longer each time."""
        if time.monotonic() < self._not_before:
            return
        results = [
            self._perform(fired, index)
            for fired in self._alerts.pending()
            for index in fired.pending
        ]
        self._tries = 0 if all(results) else self._tries + 1
        pause = self._backoff.after(self._tries) if self._tries else 0
        self._not_before = time.monotonic() + pause

    def run(self) -> None:
        """Check and act until stopped."""
        with self._live.listening(self._woken.set):
            while not self._stopping.is_set():
                self._woken.clear()
                try:
                    self.check()
                    self.act()
                except Exception:
                    log.exception("checking the alert rules failed; retrying")
                self._stopping.wait(_LEAST_SECONDS)
                self._woken.wait(_MOST_SECONDS)

    def _changed(self, after: int, newest: int) -> list[Event]:
        """Return the events since the last check.

        `after` and `newest` are numbers (`seq`) of events in the log.
        """
        found: list[Event] = []
        for seq, body in self._live.log.read(after):
            if seq > newest:
                break
            with suppress(EventError):
                found.append(read_entry(body))
        return found

    def _record(
        self, rule: Rule, causes: Sequence[Cause], muted: Collection[tuple[str, str]]
    ) -> None:
        """Store the new causes of a rule as alerts, whose actions are performed later.

        The causes of the first check are only stored. Resolved causes of kinds that may recur are
        forgotten, so that they fire again.

        `muted` has kinds and subjects of findings.
        """
        fired = self._fired[rule.name]
        found = {storable(key): _with_subject(finding) for key, finding in causes}
        new = {key: finding for key, finding in found.items() if fired is None or key not in fired}
        if fired is None:
            self._alerts.begin(rule.name, new)
            self._fired[rule.name] = set(new)
            return
        self._alerts.fire(rule.name, new, range(len(rule.actions)), muted)
        fired |= new.keys()
        if rule.kind not in ONCE:  # e.g. a share may fall below the limit again
            resolved = fired - found.keys()
            self._alerts.forget(rule.name, resolved)
            fired -= resolved

    def _perform(self, fired: FiredAlert, index: int) -> bool:
        """Perform one action of an alert; return False if it must be retried.

        `index` is the place of the action in its rule. A rule or action that was removed since is
        done.
        """
        rule = self._rules.get(fired.rule)
        error = None
        try:
            if rule is not None and index < len(rule.actions):
                action = rule.actions[index]
                action.act(action.shown(alert_of(fired)), self._live.log.redactor)
        except UnavailableError as problem:
            if time.time_ns() // 1_000 - fired.fired_at < _GIVE_UP_MICROS:
                if not self._tries:
                    log.warning("alert %s will be retried: %s", fired.rule, problem)
                return False
            error = str(problem)
        except DeliveryError as problem:
            error = str(problem)
        if error:
            log.warning("alert %s failed: %s", fired.rule, error)
        self._alerts.done(fired, index, error)
        return True


def _with_subject(found: Finding) -> Finding:
    """Return a finding whose message also names the subject, because it is shown on its own."""
    return {**found, "message": f"{name_of_subject(found)} {found['message']}"}


def _changes(state: State, events: Iterable[Event] | None) -> Changed:
    """Return the runs and datasets of some events; all of the state for None."""
    if events is None:
        return Changed(state.runs.values(), state.datasets)
    runs: dict[RunKey, Run] = {}
    datasets: set[DatasetName] = set()
    for event in events:
        if isinstance(event, DatasetEvent):
            parts = [event.dataset]
        else:
            parts = [*event.inputs, *event.outputs]
        datasets |= {canonical_name(part.namespace, part.name) for part in parts}
        if isinstance(event, RunEvent) and (run := state.runs.get(RunKey(event.run_id, event.job))):
            runs[run.key] = run
    return Changed(runs.values(), datasets)


def workers(settings: Settings) -> Callable[[Live], list[Watch]]:
    """Return a function that creates a `Watch` of the alerts file's rules, if there are any.

    Raises:
        ConfigError: the file is invalid.
    """
    rules = read_rules(settings.alerts) if settings.alerts else []
    return lambda live: [Watch(rules, live)] if rules else []
