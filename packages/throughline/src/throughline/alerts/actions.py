"""Actions of alerts: write to the log, call a webhook, run a command."""

from __future__ import annotations

import logging
import os
import subprocess
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

import orjson

from throughline.alerts.models import Alert
from throughline.delivery.http import Client, post
from throughline.errors import ConfigError, DeliveryError

log = logging.getLogger("throughline.alerts")

_SECONDS = 30
_MOST_OUTPUT = 500  # characters


class Action(Protocol):
    """An action on an alert."""

    def act(self, alert: Alert) -> None:
        """Perform the action.

        Raises:
            UnavailableError: it failed and may be retried.
            DeliveryError: it failed permanently.
        """


@dataclass(frozen=True, slots=True)
class Log:
    """Write a warning to the server's log."""

    def act(self, alert: Alert) -> None:
        """Write the warning."""
        log.warning("%s: %s", alert["rule"], alert["message"])


@dataclass(frozen=True, slots=True)
class Webhook:
    """POST the alert as JSON to `url`, or to the URL in the environment variable `url_env`."""

    url: str | None = None
    url_env: str | None = None

    def __post_init__(self) -> None:
        if (self.url is None) == (self.url_env is None):
            raise ConfigError("url: expected `url`, or `url_env` with the name of a variable")
        parts = urlsplit(self._target())
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{'url' if self.url else 'url_env'}: expected the URL of a webhook")

    def act(self, alert: Alert) -> None:
        """Post the alert."""
        target = self._target()
        with Client() as client:  # the path often contains the secret
            post(client, target, orjson.dumps(alert), f"webhook at {urlsplit(target).hostname}")

    def _target(self) -> str:
        return self.url or os.environ.get(self.url_env or "", "")


@dataclass(frozen=True, slots=True)
class Command:
    """Run a command, a list of its name and arguments, with the alert as JSON on its stdin."""

    argv: list[str]

    def __post_init__(self) -> None:
        if not self.argv:
            raise ConfigError("argv: received an empty list, expected a command and its arguments")

    def act(self, alert: Alert) -> None:
        """Run the command; its output is reported only if it fails."""
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
            output = error.stdout.decode(errors="replace").strip()[-_MOST_OUTPUT:]
            raise DeliveryError(
                f"{self.argv[0]} exited with {error.returncode}: {output}"
            ) from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeliveryError(f"{self.argv[0]}: {error}") from None


ACTIONS: dict[str, type[Any]] = {"command": Command, "log": Log, "webhook": Webhook}
