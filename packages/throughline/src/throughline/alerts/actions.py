"""Actions of alerts: write to the log, call a webhook, run a command, send a notification."""

from __future__ import annotations

import logging
import os
import subprocess
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import orjson
from annotated_types import MinLen
from pydantic import Field, model_validator

from throughline.alerts.store import Alert
from throughline.delivery.http import Client, post
from throughline.errors import ConfigError, DeliveryError, UnavailableError
from throughline.trust.documents import Document

if TYPE_CHECKING:
    from apprise import Apprise

log = logging.getLogger("throughline.alerts")

_SECONDS = 30
_MOST_OUTPUT = 500  # characters


class Log(Document):
    """Write a warning to the server's log."""

    type: Literal["log"] = "log"

    def act(self, alert: Alert) -> None:
        """Write the warning."""
        log.warning("%s: %s", alert["rule"], alert["message"])


class _ToUrl(Document):
    """An action on `url`, or on the URL in the environment variable `url_env`."""

    url: str | None = None
    url_env: str | None = None

    @model_validator(mode="after")
    def _check_url(self) -> _ToUrl:
        if (self.url is None) == (self.url_env is None):
            raise ValueError("expected `url`, or `url_env` with the name of a variable")
        if not self._is_valid():  # the message has no URL: it may contain a secret
            key = "url" if self.url else "url_env"
            raise ValueError(f"{key}: expected the URL of a {self.type}")  # type: ignore[attr-defined]
        return self

    def _is_valid(self) -> bool:
        raise NotImplementedError

    @property
    def _target(self) -> str:
        return self.url or os.environ.get(self.url_env or "", "")


class Webhook(_ToUrl):
    """POST the alert as JSON to a URL."""

    type: Literal["webhook"] = "webhook"

    def act(self, alert: Alert) -> None:
        """Post the alert.

        Raises:
            UnavailableError: it failed and may be retried.
            DeliveryError: it failed permanently.
        """
        target = self._target
        with Client() as client:  # the path often contains the secret
            post(client, target, orjson.dumps(alert), f"webhook at {urlsplit(target).hostname}")

    def _is_valid(self) -> bool:
        parts = urlsplit(self._target)
        return parts.scheme in ("http", "https") and bool(parts.hostname)


class Notify(_ToUrl):
    """Send the message to a service of apprise, such as mailto:// or slack://, by its URL."""

    type: Literal["notify"] = "notify"

    def act(self, alert: Alert) -> None:
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
    try:
        from apprise import Apprise
    except ImportError:
        raise ConfigError(
            "the action notify requires apprise: pip install 'throughline[alerts]'"
        ) from None
    return Apprise()


class Command(Document):
    """Run a command, a list of its name and arguments, with the alert as JSON on its stdin."""

    type: Literal["command"] = "command"
    argv: Annotated[list[str], MinLen(1)]

    def act(self, alert: Alert) -> None:
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
            output = error.stdout.decode(errors="replace").strip()[-_MOST_OUTPUT:]
            raise DeliveryError(
                f"{self.argv[0]} exited with {error.returncode}: {output}"
            ) from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DeliveryError(f"{self.argv[0]}: {error}") from None


Action = Annotated[Log | Webhook | Command | Notify, Field(discriminator="type")]
