"""The alerts file: rules and their actions."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterable
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import orjson
from annotated_types import Ge, Le, Len, MinLen
from pydantic import AfterValidator, Field, model_validator

from headwater.config import read_yaml
from headwater.documents import Document, validated
from headwater.errors import ConfigError, DeliveryError, UnavailableError, how_to_install
from headwater.events import JobRef
from headwater.health.findings import name_of_subject
from headwater.health.models import Measure
from headwater.hiding import without_sql
from headwater.identity import DatasetName
from headwater.plugin import parts
from headwater.plugins.alerts._store import Alert
from headwater.posting import Client, post
from headwater.redaction import Redactor

if TYPE_CHECKING:
    from apprise import Apprise

log = logging.getLogger("headwater.alerts")

_SECONDS = 30
_MOST_OUTPUT = 500  # characters
_HIDDEN = "the message is hidden because it contains SQL; set `sql: true` in the action to send it"


class _Action(Document):
    """An action on an alert. It sends SQL and source code only with `sql: true`.

    The method `act` of a subclass gets the result of `shown`.
    """

    sql: bool = False

    def shown(self, alert: Alert) -> Alert:
        """Return the alert, without SQL and source code unless the action may send them."""
        if self.sql:
            return alert
        shown: Alert = without_sql(alert)
        for found in (shown, *(shown.get("causes") or ())):
            found.pop("hidden", None)  # it is about the scope of an API key
            if found["message"] is None:  # messages of databases and Spark quote the statement
                found["message"] = f"{name_of_subject(found)}: {_HIDDEN}"
        return shown


class Log(_Action):
    """Write a warning to the server's log."""

    type: Literal["log"] = "log"

    def act(self, alert: Alert, _redactor: Redactor) -> None:
        """Write the warning."""
        log.warning("%s: %s", alert["rule"], alert["message"])


class _ToUrl(_Action):
    """An action on `url`, or on the URL in the environment variable `url_env`."""

    url: str | None = None
    url_env: str | None = None

    @model_validator(mode="after")
    def _check_url(self) -> _ToUrl:
        if (self.url is None) == (self.url_env is None):
            raise ValueError("expected `url`, or `url_env` with the name of a variable")
        if not self._is_valid():  # the message omits the URL, which may contain a secret
            key = "url" if self.url else "url_env"
            raise ValueError(f"{key}: expected the URL of a {self.type}")  # type: ignore[attr-defined]
        return self

    def _is_valid(self) -> bool:
        """Return True if the URL can be used; subclasses say which can."""
        raise NotImplementedError

    @property
    def _target(self) -> str:
        """The URL, which may contain a secret; empty if the variable is missing."""
        return self.url or os.environ.get(self.url_env or "", "")


class Webhook(_ToUrl):
    """POST the alert as JSON to a URL."""

    type: Literal["webhook"] = "webhook"

    def act(self, alert: Alert, redactor: Redactor) -> None:
        """Post the alert.

        Raises:
            UnavailableError: it failed and may be retried.
            DeliveryError: it failed permanently.
        """
        target = self._target
        with closing(Client()) as client:  # the path often contains the secret
            label = f"webhook at {urlsplit(target).hostname}"
            post(client, target, orjson.dumps(alert), label, redactor)

    def _is_valid(self) -> bool:
        parts = urlsplit(self._target)
        return parts.scheme in ("http", "https") and bool(parts.hostname)


class Notify(_ToUrl):
    """Send the message to a service of apprise, such as mailto:// or slack://, by its URL."""

    type: Literal["notify"] = "notify"

    def act(self, alert: Alert, _redactor: Redactor) -> None:
        """Send the message with the rule as its title.

        Raises:
            UnavailableError: it failed and may be retried.
        """
        body = f"{alert['message']}\n{alert['remedy']}"
        service = _services()
        service.add(self._target)
        if not service.notify(title=alert["rule"], body=body):
            scheme = urlsplit(self._target).scheme  # the rest often contains the secret
            raise UnavailableError(f"the notification by {scheme} failed")

    def _is_valid(self) -> bool:
        return bool(_services().add(self._target))


def _services() -> Apprise:
    """Return an empty list of apprise's services.

    Raises ConfigError if apprise is not installed.
    """
    try:
        from apprise import Apprise
    except ImportError:
        raise ConfigError(f"notify requires apprise. {how_to_install('alerts')}") from None
    return Apprise()


class Command(_Action):
    """Run a command, a list of its name and arguments, with the alert as JSON on its stdin."""

    type: Literal["command"] = "command"
    argv: Annotated[list[str], MinLen(1)]

    def act(self, alert: Alert, redactor: Redactor) -> None:
        """Run the command; its output is reported only if it fails.

        Raises:
            DeliveryError: it failed.
        """
        try:
            subprocess.run(
                self.argv,
                input=orjson.dumps(alert),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            output = redactor.redact_text(error.stdout.decode(errors="replace").strip())
            raise DeliveryError(
                f"{self.argv[0]} exited with {error.returncode}: {output[-_MOST_OUTPUT:]}"
            ) from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeliveryError(f"{self.argv[0]}: {error}") from None


Action = Annotated[Log | Webhook | Command | Notify, Field(discriminator="type")]


def _check_kind(kind: str) -> str:
    """Return a kind of rule. Raises ValueError, as pydantic expects, if no plugin has it."""
    if kind not in (kinds := parts("alerts")):
        raise ValueError(f"received {kind!r}, expected {', '.join(map(repr, kinds))}")
    return kind


class Rule(Document):
    """A rule; globs match a name or `namespace/name`. Without patterns, everything matches.

    `below` and `measure` belong to rules of the kind completeness: the share, and the measure.
    """

    name: Annotated[str, Len(1, 64)]
    kind: Annotated[str, AfterValidator(_check_kind)]
    actions: list[Action]
    jobs: list[str] = []
    datasets: list[str] = []
    below: Annotated[float, Ge(0), Le(1)] | None = None
    measure: Measure | None = None

    @model_validator(mode="after")
    def _check_below(self) -> Rule:
        if (self.below is None) == (self.kind == "completeness"):
            raise ValueError(
                f"below: received {self.below} with kind {self.kind},"
                " expected a share from 0 to 1 with kind completeness, and with no other"
            )
        return self

    def matches_job(self, job: JobRef) -> bool:
        """Return True if the rule applies to a job."""
        return _matches(self.jobs, [job])

    def matches_dataset(self, names: Iterable[DatasetName]) -> bool:
        """Return True if the rule applies to a dataset with these names."""
        return _matches(self.datasets, names)


class _Alerts(Document):
    """The whole file."""

    rules: list[Rule]

    @model_validator(mode="after")
    def _check_names(self) -> _Alerts:
        names = [rule.name for rule in self.rules]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"rules: received {twice[0]!r} twice, expected unique names")
        return self


def read_rules(path: Path) -> list[Rule]:
    """Return the rules of an alerts file. Raises ConfigError if it is invalid."""
    try:
        return validated(_Alerts, read_yaml(path), "alerts").rules
    except ConfigError as error:
        raise ConfigError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None


def _matches(patterns: list[str], names: Iterable[tuple[str, str]]) -> bool:
    """Return True if a pattern matches a name with or without its namespace, or there is none.

    `names` are pairs of namespace and name.
    """
    if not patterns:
        return True
    texts = [text for namespace, name in names for text in (name, f"{namespace}/{name}")]
    return any(fnmatchcase(text, pattern) for text in texts for pattern in patterns)
