"""The runs of an MCP session: one for each call of a tool, below one for the session.

MCP (Model Context Protocol) has no events about data. A call is a job named after the agent, the
server and the tool. Of its arguments, only a SQL statement or the URI of a resource is recorded.

The inputs and outputs of a call are in its last event, unless the call failed: a statement with an
error, such as the name of a table that does not exist, reads nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from headwater_client._report import Report
from headwater_client.capture import Capture, Captured, CapturedQuery, name_of_path
from headwater_client.capture._databases import add
from headwater_client.capture._names import Database, Name, names_of
from headwater_client.capture._sql import tables_of
from headwater_client.parents import RunRef

if TYPE_CHECKING:
    from headwater_client.events import ReportedRun

NAMESPACE = "agents"
"""Namespace of the jobs that stand for agents."""
_SQL_ARGUMENTS = ("sql", "query", "statement")
_STATEMENT = re.compile(
    r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*"
    r"(?:SELECT|WITH|FROM|INSERT|REPLACE|UPDATE|DELETE|MERGE|CREATE|DROP|COPY|TABLE|VALUES|USE)\b",
    re.IGNORECASE | re.DOTALL,
)
_META = "io.modelcontextprotocol/"
_LARGE = 1_000_000  # bytes; parsing a larger message would delay the next one
_MOST_OPEN = 10_000
_LONGEST_ERROR = 1_000
_ID = re.compile(rb'"id"\s*:\s*(\d+|"[^"\\]*")')
_FAILED = re.compile(rb'"isError"\s*:\s*true')

_Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class McpSettings:
    """The settings of a proxy for its session."""

    agent: str | None
    """Name of the agent; None if the client's name is used."""
    server: str | None
    """Name of the server; None if the name that it sends is used."""
    program: str
    """Name of the server if it sends none."""
    database: Database | None
    """The database of SQL arguments; None if they are not recorded."""


class McpSession:
    """An MCP session, whose events are sent from copies of its messages.

    `_open` has the runs of the calls that wait for a response, by the JSON of the message's id.
    """

    def __init__(
        self,
        settings: McpSettings,
        report: Report,
        parents: tuple[RunRef, RunRef] | None,
        started: datetime,
    ) -> None:
        self._settings = settings
        self._report = report
        self._parents = parents
        self._started = started
        self._capture = Capture()
        self._client: str | None = None
        self._server: str | None = None
        self._open: dict[str, ReportedRun] = {}
        self._has_calls = False

    def read_request(self, line: bytes, at: datetime) -> None:
        """Read a message of the client: a call begins a run."""
        for message in _messages(line):
            params = _object(message.get("params"))
            self._client = self._client or _name_in(params, "clientInfo")
            method, key = message.get("method"), json.dumps(message.get("id"))
            if method == "notifications/cancelled":
                key = json.dumps(params.get("requestId"))
                self._end_call(key, "ABORT", at, "The client canceled the call.")
            elif "id" in message and method in ("tools/call", "resources/read"):
                self._start_call(key, method, params, at)

    def read_response(self, line: bytes, at: datetime) -> None:
        """Read a message of the server: the response to a call ends its run.

        Requests and notifications of the server are ignored. A tool reports its own failure in the
        result (`isError`), the server one of the call as `error`.
        """
        if len(line) > _LARGE:
            self._read_large_response(line, at)
            return
        for message in _messages(line):
            if "method" in message:
                continue
            result, key = _object(message.get("result")), json.dumps(message.get("id"))
            self._server = self._server or _name_in(result, "serverInfo")
            if "error" in message:
                error = _object(message["error"]).get("message")
                self._end_call(key, "FAIL", at, str(error or "The server returned an error."))
            elif result.get("isError") is True:
                self._end_call(key, "FAIL", at, _text_of(result))
            else:
                self._end_call(key, "COMPLETE", at)

    def _read_large_response(self, line: bytes, at: datetime) -> None:
        """End a call without parsing its response; strings in JSON contain no bare quote."""
        if key := _ID.search(line[:_LONGEST_ERROR]):
            error = "The tool failed with a long message." if _FAILED.search(line) else None
            self._end_call(key[1].decode(), "FAIL" if error else "COMPLETE", at, error)

    def end(self, state: str, at: datetime, error: str | None) -> None:
        """End the calls without a response, and the session.

        No earlier event of the session's run is sent, because a killed proxy cannot send its end.
        """
        why = error or "The session ended before the response."
        for key in [*self._open]:
            self._end_call(key, "ABORT" if state == "COMPLETE" else state, at, why)
        if self._has_calls or state != "COMPLETE":
            self._report.send(lambda: self._session_run.to_json("START", self._started))
            self._report.send(lambda: self._session_run.to_json(state, at, error))

    def _start_call(self, key: str, method: str, params: _Json, at: datetime) -> None:
        """Begin the run of a call and send its START, without its datasets.

        If more than 10,000 calls are open, only the START of this one is sent.
        """
        self._has_calls = True
        run = self._call_run(method, params)
        if len(self._open) < _MOST_OPEN:
            self._open[key] = run
        start = replace(run, inputs=(), outputs=())
        self._report.send(lambda: start.to_json("START", at))

    def _end_call(self, key: str, state: str, at: datetime, error: str | None = None) -> None:
        """Send the end of a call, with its datasets unless it failed; ignore unknown calls."""
        if (run := self._open.pop(key, None)) is not None:
            message = None if error is None else error[:_LONGEST_ERROR]
            end = replace(run, inputs=(), outputs=()) if state == "FAIL" else run
            self._report.send(lambda: end.to_json(state, at, message))

    @cached_property
    def _ref(self) -> RunRef:
        return RunRef.new(NAMESPACE, _clean(self._settings.agent or self._client or "agent"))

    @cached_property
    def _session_run(self) -> ReportedRun:
        """Return the run of the session. Its job has the name of the agent."""
        from headwater_client.events import ReportedRun

        return ReportedRun(
            ref=self._ref,
            integration="MCP",
            job_type="AGENT",
            parents=self._parents,
            run_facets=_engine(),
        )

    def _call_run(self, method: str, params: _Json) -> ReportedRun:
        """Return the run of a call: its job is AGENT.SERVER.TOOL, below the session's run.

        The datasets are the resource that it reads, or the tables of the SQL in its arguments.
        """
        from openlineage.client.event_v2 import InputDataset, OutputDataset

        from headwater_client._captured_run import change_facet, text_facets
        from headwater_client.events import ReportedRun

        server = self._settings.server or self._server or self._settings.program
        inputs: list[Name] = []
        outputs: list[OutputDataset] = []
        facets: Mapping[str, Any] = {}
        if method == "resources/read":
            tool = "read_resource"
            inputs = _named_resource(params.get("uri"), server)
        else:
            tool = str(params.get("name"))
            if query := self._query_in(_object(params.get("arguments"))):
                inputs = [item.key for item in query.inputs]
                outputs = [
                    OutputDataset(*item.key, facets=dict(change_facet(item)))
                    for item in query.outputs
                ]
                facets = text_facets(query)
        job = ".".join((self._ref.job, _clean(server), _clean(tool)))
        return ReportedRun(
            ref=RunRef.new(NAMESPACE, job),
            integration="MCP",
            job_type="TASK",
            parents=(self._ref, self._parents[1] if self._parents else self._ref),
            language="SQL" if facets else "unknown",
            inputs=[InputDataset(*name) for name in inputs],
            outputs=outputs,
            run_facets=_engine(),
            job_facets=facets,
        )

    def _query_in(self, arguments: _Json) -> CapturedQuery | None:
        """Return the SQL statement in the arguments of a tool, if it names a dataset."""
        database = self._settings.database
        values = [arguments.get(name) for name in _SQL_ARGUMENTS]
        texts = [text for text in values if isinstance(text, str) and _STATEMENT.match(text)]
        if database is None or not texts:
            return None
        found = tables_of(texts[0], database.dialect)
        files = [Captured(*name) for path in found.files_read for name in names_of(path)]
        return add(self._capture, texts[0], database.dialect, found, database, files)


def _messages(line: bytes) -> Iterator[_Json]:
    """Yield the messages in a line: one, or a list of them. Nothing if it is not JSON."""
    try:
        found = json.loads(line) if line.strip() else []
    except (ValueError, RecursionError):
        return
    for message in found if isinstance(found, list) else [found]:
        if isinstance(message, dict):
            yield message


def _object(value: object) -> _Json:
    return value if isinstance(value, dict) else {}


def _name_in(part: _Json, key: str) -> str | None:
    """Return the name of a client or server; each message has it since MCP 2026-07-28."""
    about = _object(part.get(key)) or _object(_object(part.get("_meta")).get(_META + key))
    name = about.get("name")
    return name if isinstance(name, str) and name.strip() else None


def _text_of(result: _Json) -> str:
    content = result.get("content")
    texts = [_object(item).get("text") for item in content] if isinstance(content, list) else []
    return "\n".join(str(text) for text in texts if text) or "The tool failed without a message."


def _named_resource(uri: object, server: str) -> list[Name]:
    """Return the dataset of a resource: a file or object, or a resource of only this server.

    `file:///data/a.csv` is that file; `notes://today` is `mcp://SERVER` + `notes://today`. Empty if
    the URI is invalid.
    """
    if not isinstance(uri, str) or not uri.strip():
        return []
    if name := name_of_path(uri):
        return [name]
    try:
        parts = urlsplit(uri)
    except ValueError:
        return []
    place = parts.netloc.rpartition("@")[2]  # no user and no query, which may contain a secret
    return [(f"mcp://{_clean(server)}", urlunsplit((parts.scheme, place, parts.path, "", "")))]


def _clean(name: str) -> str:
    """Return a name in a form that can be a part of a job's name."""
    return re.sub(r"[^\w.@-]+", "-", name.strip())[:64].strip("-") or "unknown"


def _engine() -> dict[str, Any]:
    from openlineage.client.facet_v2 import processing_engine_run

    from headwater_client.events import PRODUCER, VERSION

    facet = processing_engine_run.ProcessingEngineRunFacet(VERSION, "headwater", producer=PRODUCER)
    return {"processing_engine": facet}
