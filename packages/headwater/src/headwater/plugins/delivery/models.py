"""The state of the backends, as answers, and the settings of a backend in the deliver file."""

from __future__ import annotations

import os
import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, field_validator

from headwater.query.models import Answer

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class DeadLetterInfo(Answer):
    """An event that a backend rejected."""

    seq: int
    reason: str
    rejectedAt: str | None


class BackendInfo(Answer):
    """The state of a backend."""

    backend: str
    seq: int
    """The last event that was delivered or rejected."""
    lag: int
    """Number of events not yet delivered."""
    deliveredAt: str | None
    isFailing: bool
    error: str | None
    errorAt: str | None
    deadLetters: int
    newestDeadLetters: list[DeadLetterInfo]


class Retried(Answer):
    """Number of dead letters that will be sent again."""

    backend: str
    retried: int


class ColumnPair(Answer):
    """A column and one that it depends on."""

    dataset: str
    column: str
    source: str
    sourceColumn: str | None
    """Null if it depends on all rows."""
    isDirect: bool
    """False if the source only filters, joins, groups or sorts."""


class GraphPreview(Answer):
    """The changes of a replay to the edges of the replayed jobs at a headwater server.

    Edges and columns have the names of the log, also those of the server.
    """

    target: str
    level: str
    jobs: int
    """Number of compared jobs."""
    otherJobs: int
    """Number of jobs of the server that are not in the replay, and stay as they are."""
    newerJobs: list[str]
    """Jobs with a newer run on the server; a replay does not change their edges."""
    aliases: int
    """Number of names that users joined or separated in the log; a replay does not send them."""
    same: int
    """Number of edges that both have."""
    edgesAdded: list[list[str]]
    edgesRemoved: list[list[str]]
    renamed: list[list[str]]
    """The name of a dataset at the server, and in the log."""
    columnsCompared: int | None
    """Number of datasets whose columns were compared; null if columns were not requested."""
    columnsAdded: list[ColumnPair]
    columnsRemoved: list[ColumnPair]


class Lost(Answer):
    """The number of reported facts of a kind, and of those that arrive."""

    kind: str
    reported: int
    arrived: int


class BackendPreview(Answer):
    """The events of a replay, as a backend would receive them."""

    target: str
    events: int
    rejected: int
    """Number of events of which the backend accepts no part."""
    reasons: list[str]
    """The first ten of them."""
    renamed: list[list[str]]
    """The primary name of a dataset, and its name at the backend."""
    lost: list[Lost]
    """Kinds of facts that do not all arrive."""


class BackendSettings(BaseModel):
    """The keys of every backend; a subclass fixes its `type`, as a Literal, and adds its own keys.

    The text of a ValueError in a validator is the error message, after the file and the key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str
    type: str

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"received {name!r}, expected up to 64 letters, digits, _, - and .")
        return name


class ConsoleSettings(BackendSettings):
    """The console has no further keys."""

    type: Literal["console"] = "console"


class FileSettings(BackendSettings):
    """`path` is the JSON Lines file to append to; its folder is created."""

    type: Literal["file"] = "file"
    path: str


class ServerSettings(BackendSettings):
    """`url` is the server's, `endpoint` the path, `api_key_env` the variable with the API key.

    `timeout` is the time limit in seconds of a request, from the connection to the last byte.
    """

    url: str
    endpoint: str = "api/v1/lineage"
    api_key_env: str | None = None
    timeout: float = 30

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        """Return the URL of a server.

        Raises ValueError, as pydantic expects, if it has other parts.
        """
        parts = urlsplit(url)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError(
                f"received a URL of {parts.hostname} with a user, a query or a fragment, expected"
                " one without; pass a key in the variable that `api_key_env` names"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"received {url!r}, expected a URL like http://host:5000")
        if parts.path.strip("/"):
            raise ValueError(f"received {url!r}, expected no path; set it as `endpoint`")
        return url

    @field_validator("timeout")
    @classmethod
    def _check_timeout(cls, seconds: float) -> float:
        if not seconds > 0:
            raise ValueError(f"received {seconds}, expected seconds above 0")
        return seconds

    @field_validator("api_key_env")
    @classmethod
    def _check_key(cls, variable: str | None) -> str | None:
        if variable and not os.environ.get(variable):
            raise ValueError(f"the variable {variable!r} is not set: set it to the API key")
        return variable

    @property
    def api_key(self) -> str | None:
        """The API key, which is not part of the settings and never shown."""
        return os.environ.get(self.api_key_env) if self.api_key_env else None


class HttpSettings(ServerSettings):
    """Any endpoint for OpenLineage events."""

    type: Literal["http"] = "http"


class MarquezSettings(ServerSettings):
    """A Marquez server."""

    type: Literal["marquez"] = "marquez"


class OpenMetadataSettings(ServerSettings):
    """An OpenMetadata server; the API key is the token (JWT) of a bot."""

    type: Literal["openmetadata"] = "openmetadata"
    endpoint: str = "api/v1/openlineage/lineage"


class DataHubSettings(ServerSettings):
    """DataHub's metadata service (GMS).

    `emitter: false` omits everything that needs acryl-datahub: hierarchy, models, ownership etc.
    """

    type: Literal["datahub"] = "datahub"
    endpoint: str = "openapi/openlineage/api/v1/lineage"
    emitter: bool = True
