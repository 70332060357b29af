"""The built-in backends, and the deliver file, which lists the backends to use."""

from __future__ import annotations

import os
import sys
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from headwater.collect.store import portions
from headwater.config import expected, read_yaml
from headwater.errors import ConfigError, DeliveryError, UnavailableError, how_to_install, shown
from headwater.plugin import parts
from headwater.plugins.delivery import models, plugin
from headwater.plugins.delivery._effective_runs import NewestRuns
from headwater.plugins.delivery.backend import Backend, Delivery
from headwater.plugins.delivery.body import is_run
from headwater.plugins.delivery.payloads import payloads, payloads_with_context
from headwater.plugins.delivery.rewrite import DATAHUB, MARQUEZ, OPENMETADATA, Rewriting
from headwater.plugins.delivery.rewrite._datahub import is_emitter_installed
from headwater.posting import Client, post
from headwater.redaction import Redactor

if TYPE_CHECKING:
    from datahub.emitter.mcp import MetadataChangeProposalWrapper

_MOST_PROPOSALS = 200
_MOST_BYTES = 10_000_000  # of one request with proposals; DataHub accepts 16 MB
_RESTLI = {"X-RestLi-Protocol-Version": "2.0.0"}
_Settings = TypeVar("_Settings")


class Console:
    """Prints each event as one line of stdout."""

    settings_class = models.ConsoleSettings

    def __init__(self, _settings: models.ConsoleSettings) -> None:
        pass

    def send(self, delivery: Delivery) -> None:
        """Print one event."""
        try:
            sys.stdout.write(_line(delivery.body).decode())
            sys.stdout.flush()
        except OSError as error:
            raise UnavailableError(f"stdout: {error.strerror or error}") from None

    def close(self) -> None:
        """Do nothing."""


class File:
    """Appends each event as one line, durably.

    The file is opened for each event, so that it may be moved at any time.
    """

    settings_class = models.FileSettings

    def __init__(self, settings: models.FileSettings) -> None:
        self._path = Path(settings.path).expanduser().absolute()

    def send(self, delivery: Delivery) -> None:
        """Append one event."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b", buffering=0) as file:
                _append(file.fileno(), _line(delivery.body))
        except OSError as error:
            raise UnavailableError(f"{self._path}: {error.strerror or error}") from None

    def close(self) -> None:
        """Do nothing."""


class Http:
    """Posts each event in its own request, over a persistent connection."""

    settings_class: ClassVar[type[models.ServerSettings]] = models.HttpSettings

    def __init__(self, settings: models.ServerSettings) -> None:
        key = settings.api_key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._url = f"{settings.url.rstrip('/')}/{settings.endpoint.lstrip('/')}"
        self._client = Client(headers, settings.timeout)

    def send(self, delivery: Delivery) -> None:
        """Post one event."""
        self._post(delivery.body.encode(), delivery.redactor)

    def _post(self, content: bytes, redactor: Redactor) -> bytes:
        return post(self._client, self._url, content, self._url, redactor)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class Marquez(Http):
    """Posts events rewritten for Marquez."""

    settings_class: ClassVar[type[models.ServerSettings]] = models.MarquezSettings
    rewriting: ClassVar[Rewriting] = MARQUEZ

    def send(self, delivery: Delivery) -> None:
        """Post the payloads of one event, one request each."""
        for body in payloads(delivery, self.rewriting):
            self._check(self._post(orjson.dumps(body), delivery.redactor))

    def _check(self, answer: bytes) -> None:
        """Raise DeliveryError if a successful response reports a failure."""


class OpenMetadata(Marquez):
    """Posts edges. OpenMetadata rejects edges of unknown tables with status 200.

    A COMPLETE event of a table that it does not know becomes a dead letter, to be retried later.
    """

    settings_class = models.OpenMetadataSettings
    rewriting = OPENMETADATA

    def _check(self, answer: bytes) -> None:
        """Raise DeliveryError if a successful response says that no edge was created."""
        try:
            response: Any = orjson.loads(answer)
        except orjson.JSONDecodeError:
            return
        if isinstance(response, dict) and str(response.get("status")).lower() == "failure":
            missing = response.get("unresolvedDatasets") or []
            names = ", ".join(str(item.get("name")) for item in missing if isinstance(item, dict))
            raise DeliveryError(
                f"{self._url} created no edge: {response.get('message')};"
                f" missing tables: {names or 'not reported'}"
            )


class DataHub(Http):
    """Posts run events; sends what the endpoint does not support as proposals.

    Without `emitter`, only run events are sent. The cache of newest runs lasts as long as the
    backend, so it must receive all events in order.
    """

    settings_class: ClassVar[type[models.ServerSettings]] = models.DataHubSettings

    def __init__(self, settings: models.DataHubSettings) -> None:
        """Create it. Raises ConfigError if the settings need a package that is not installed."""
        if settings.emitter and not is_emitter_installed():
            raise ConfigError(
                f"emitter: acryl-datahub is not installed. {how_to_install('datahub')}. Or set"
                " `emitter: false`, which omits hierarchy, models, ownership, tags and versions"
            )
        super().__init__(settings)
        self._has_emitter = settings.emitter
        self._aspects = f"{settings.url.rstrip('/')}/aspects"
        self._newest_runs: NewestRuns = {}

    def send(self, delivery: Delivery) -> None:
        """Post the payloads of one event and their proposals."""
        for body, context in payloads_with_context(delivery, DATAHUB, self._newest_runs):
            if is_run(body):
                self._post(orjson.dumps(body), delivery.redactor)
            if self._has_emitter:
                from headwater.plugins.delivery.rewrite._datahub_proposals import proposals

                self._emit(proposals(body, context), delivery.redactor)

    def _emit(self, proposals: list[MetadataChangeProposalWrapper], redactor: Redactor) -> None:
        """Post proposals, in requests of a size that DataHub accepts."""
        from datahub.emitter.serialization_helper import pre_json_transform

        parts = [orjson.dumps(pre_json_transform(proposal.to_obj())) for proposal in proposals]
        url = f"{self._aspects}?action=ingestProposalBatch"
        for batch in portions(parts, _MOST_PROPOSALS, _MOST_BYTES):
            body = b'{"proposals":[%b],"async":"false"}' % b",".join(batch)
            post(self._client, url, body, self._aspects, redactor, _RESTLI)


class _DeliverFile(BaseModel, Generic[_Settings]):
    model_config = ConfigDict(extra="forbid")

    backends: list[_Settings]


def read_backends(path: Path) -> dict[str, Backend]:
    """Return the backends of a deliver file by name. Raises ConfigError.

    Backends are created, but send nothing yet. Values of keys are never part of a message.
    """
    content = read_yaml(path)
    kinds = parts("backends")  # of all plugins, by type; others are only imported if used
    used = {*plugin.backends, *(kind for kind in kinds if _uses(content, kind))}
    classes: dict[str, type[Any]] = {kind: kinds[kind].load() for kind in used}
    union: Any = reduce(or_, (class_.settings_class for class_ in classes.values()))
    try:
        file = _DeliverFile[Annotated[union, Field(discriminator="type")]].model_validate(content)
    except ValidationError as error:
        # Report a misspelled key first: its message is the clearest.
        details = min(error.errors(), key=lambda details: details["type"] != "extra_forbidden")
        raise ConfigError(f"{path}: {_message(details, classes, set(kinds))}") from None
    backends: dict[str, Backend] = {}
    for index, settings in enumerate(file.backends):
        if settings.name in backends:
            raise ConfigError(
                f"{path}: backends[{index}].name: {settings.name!r} is already in use;"
                " use another name"
            )
        backends[settings.name] = classes[settings.type](settings)
    return backends


def _uses(content: Any, kind: str) -> bool:
    entries = content.get("backends") if isinstance(content, dict) else None
    return isinstance(entries, list) and any(
        isinstance(entry, dict) and entry.get("type") == kind for entry in entries
    )


def _message(error: ErrorDetails, classes: dict[str, type[Any]], kinds: set[str]) -> str:
    """Return the place, the value received and the expectation; never the value of a key.

    `error` is pydantic's, `classes` are the backends in use by type, and `kinds` all known types.
    """
    # The place is ("backends", index, type, key …): the type only chooses the model.
    loc, problem = list(error["loc"]), error["type"]
    model = classes[str(loc.pop(2))].settings_class if len(loc) > 2 else _DeliverFile
    if problem == "extra_forbidden":
        received, expectation = loc.pop(), f"allowed keys: {', '.join(model.model_fields)}"
    elif problem == "value_error":
        received, expectation = None, str(error["ctx"]["error"])
    elif problem.startswith("union_tag"):
        received = shown(error["input"].get("type"))
        loc, expectation = [*loc, "type"], f"expected one of {', '.join(sorted(kinds))}"
        if received == "'datazone'":
            aws = how_to_install(package="headwater-aws")
            expectation += f"; datazone requires headwater-aws. {aws}"
    elif problem.startswith("model"):
        received = type(error["input"]).__name__
        keys = "name, type and others" if loc else ", ".join(model.model_fields)
        expectation = f"allowed keys: {keys}"
    elif problem == "missing":
        received, expectation = "nothing", "it is required"
    else:
        received, expectation = shown(error["input"]), expected(error)
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    text = expectation if received is None else f"received {received}, {expectation}"
    return f"{place[1:]}: {text}" if place else text


def _line(body: str) -> bytes:
    """Return an event as one line; only one with line breaks is encoded again."""
    is_line = "\n" not in body and "\r" not in body
    return (body.encode() if is_line else orjson.dumps(orjson.loads(body))) + b"\n"


def _append(file: int, line: bytes) -> None:
    """Append a complete line or nothing; first terminate an incomplete last line.

    `file` is the descriptor of a file that is open for appending. Raises OSError; the file is then
    as before.
    """
    end = os.fstat(file).st_size
    if end and os.pread(file, 1, end - 1) != b"\n":
        line = b"\n" + line
    try:
        if os.write(file, line) < len(line):
            raise OSError("only a part of the line was written")
        os.fsync(file)
    except OSError:
        os.ftruncate(file, end)
        raise
