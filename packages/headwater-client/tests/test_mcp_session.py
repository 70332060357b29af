"""The runs of an MCP session, from its messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater_client._mcp_pipes import Lines
from headwater_client._mcp_session import McpSession, McpSettings
from headwater_client._report import Report
from headwater_client.capture._names import Database, database_of_url
from headwater_client.mcp_proxy import argument_parser, database_of
from headwater_client.parents import RunRef

_AT = datetime(2026, 11, 28, tzinfo=UTC)
_NAMESPACE = "sqlite:///data/shop.db"


class _Events(Report):
    """Keeps the events of a session."""

    def __init__(self) -> None:
        super().__init__(None, None)
        self.items: list[dict[str, Any]] = []

    def send(self, create: Callable[[], bytes]) -> None:
        self.items.append(json.loads(create()))


class _Session:
    """A session between a client and a server, with the events that it sends."""

    def __init__(
        self,
        database: Database | None = None,
        agent: str | None = None,
        parents: tuple[RunRef, RunRef] | None = None,
    ) -> None:
        self.events = _Events()
        settings = McpSettings(agent, None, "program", database)
        self._session = McpSession(settings, self.events, parents, _AT)

    def request(self, id_: object, method: str, **params: object) -> None:
        self.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})

    def send(self, message: object) -> None:
        self._session.read_request(json.dumps(message).encode(), _AT)

    def respond(self, id_: object, **result: object) -> None:
        self.answer({"jsonrpc": "2.0", "id": id_, "result": result})

    def answer(self, message: object) -> None:
        self._session.read_response(json.dumps(message).encode(), _AT)

    def answer_with(self, line: bytes) -> None:
        self._session.read_response(line, _AT)

    def end(self, state: str = "COMPLETE", error: str | None = None) -> None:
        self._session.end(state, _AT, error)

    def call(self, tool: str = "read", **arguments: object) -> dict[str, Any]:
        """Call a tool that succeeds; return its last event."""
        self.request(1, "tools/call", name=tool, arguments=arguments)
        self.respond(1, content=[], isError=False)
        return self.events.items[-1]

    @property
    def states(self) -> list[tuple[str, str]]:
        return [(event["job"]["name"], event["eventType"]) for event in self.events.items]


def _inputs(event: dict[str, Any]) -> list[tuple[str, str]]:
    return [(item["namespace"], item["name"]) for item in event["inputs"]]


@pytest.fixture
def sqlite() -> Database:
    database = database_of_url("sqlite:////data/shop.db")
    assert database is not None
    return database


@pytest.mark.parametrize("protocol", ["initialize", "in each message"])
def test_jobs_are_named_after_client_server_and_tool(protocol: str) -> None:
    session = _Session()
    key = "io.modelcontextprotocol/"
    if protocol == "initialize":
        session.request(0, "initialize", clientInfo={"name": "Claude Code", "version": "1"})
        session.respond(0, serverInfo={"name": "shop/db", "version": "1"})
        session.request(1, "tools/call", name="read", arguments={})
    else:
        about = {key + "clientInfo": {"name": "Claude Code"}}
        session.request(0, "server/discover", _meta=about)
        session.respond(0, _meta={key + "serverInfo": {"name": "shop/db"}})
        session.request(1, "tools/call", name="read", arguments={}, _meta=about)
    session.respond(1, content=[])
    session.end()
    job = "Claude-Code.shop-db.read"
    assert session.states == [
        *((job, "START"), (job, "COMPLETE")),
        *(("Claude-Code", "START"), ("Claude-Code", "COMPLETE")),
    ]
    call, agent = session.events.items[1], session.events.items[3]
    parent = call["run"]["facets"]["parent"]
    assert parent["run"]["runId"] == parent["root"]["run"]["runId"] == agent["run"]["runId"]
    assert call["job"]["facets"]["jobType"]["integration"] == "MCP"


def test_session_is_below_the_run_that_started_it() -> None:
    task, dag = RunRef.new("airflow", "dag.task"), RunRef.new("airflow", "dag")
    session = _Session(agent="claude", parents=(task, dag))
    event = session.call()
    session.end()
    assert event["run"]["facets"]["parent"]["root"]["run"]["runId"] == dag.run_id
    parent = session.events.items[-1]["run"]["facets"]["parent"]
    assert parent["run"]["runId"] == task.run_id


def test_failed_calls_have_the_message_and_no_data(sqlite: Database) -> None:
    session = _Session(sqlite)
    text = {"type": "text", "text": "no such table: ordes"}
    session.request(1, "tools/call", name="read", arguments={"sql": "select * from ordes"})
    session.respond(1, content=[text], isError=True)
    session.request(2, "tools/call", name="read", arguments={"sql": "select * from orders"})
    session.answer({"jsonrpc": "2.0", "id": 2, "error": {"code": -1, "message": "closed"}})
    ended = session.events.items[1::2]
    assert [event["eventType"] for event in ended] == ["FAIL", "FAIL"]
    messages = [event["run"]["facets"]["errorMessage"]["message"] for event in ended]
    assert messages == ["no such table: ordes", "closed"]
    assert [event["inputs"] for event in session.events.items] == [[], [], [], []]
    assert ended[0]["job"]["facets"]["sql"]["query"] == "select * from ordes"


def test_calls_end_with_the_session_or_when_they_are_canceled() -> None:
    session = _Session(agent="a")
    for number in ("1", 1, 2):
        session.request(number, "tools/call", name=f"t{number!r}", arguments={})
    cancellation = {"method": "notifications/cancelled", "params": {"requestId": 2}}
    session.send(cancellation)
    session.respond("1", content=[])
    session.end("FAIL", "the server ended with exit code 1")
    assert session.states[3:] == [
        ("a.program.t2", "ABORT"),
        ("a.program.t-1", "COMPLETE"),
        ("a.program.t1", "FAIL"),
        ("a", "START"),
        ("a", "FAIL"),
    ]


def test_batches_and_other_messages_are_read() -> None:
    session = _Session(agent="a")
    call = {"method": "tools/call", "params": {"name": "t"}}
    session.send([{**call, "id": 1}, {**call, "id": 2}, 3, {"id": 4, "result": {}}])
    session.send({**call, "method": "tools/list", "id": 5})
    session.answer({"id": 1, "method": "sampling/createMessage", "params": {}})
    session.answer([{"id": 2, "result": {}}, {"id": 1, "result": {}}, {"id": 9, "result": {}}])
    session.answer_with(b"no JSON \xff")
    session.answer_with(b"[" * 100_000)
    assert [state for _, state in session.states] == ["START", "START", "COMPLETE", "COMPLETE"]


def test_large_responses_end_their_calls() -> None:
    session = _Session(agent="a")
    rows = ['"isError":true ' * 50_000 + "x" * 500_000]
    for is_error in (False, True):
        session.request(1, "tools/call", name="t", arguments={})
        session.respond(1, content=rows, isError=is_error)
    assert [state for _, state in session.states] == ["START", "COMPLETE", "START", "FAIL"]


@pytest.mark.parametrize("argument", ["sql", "query", "statement"])
def test_tables_of_a_statement_are_inputs_and_outputs(argument: str, sqlite: Database) -> None:
    session = _Session(sqlite)
    event = session.call(**{argument: "-- all\nSELECT * FROM orders JOIN main.users u USING (id)"})
    assert _inputs(event) == [(_NAMESPACE, "orders"), (_NAMESPACE, "users")]
    assert event["job"]["facets"]["sql"]["dialect"] == "sqlite"
    event = session.call(**{argument: "insert into report select * from orders"})
    assert _inputs(event) == [(_NAMESPACE, "orders")]
    assert [item["name"] for item in event["outputs"]] == ["report"]


def test_temporary_tables_of_the_session_are_no_datasets(sqlite: Database) -> None:
    session = _Session(sqlite)
    session.call(sql="create temp table t as select * from orders")
    event = session.call(sql="select * from t")
    assert _inputs(event) == [(_NAMESPACE, "orders")]


def test_names_are_completed_as_the_database_does() -> None:
    postgres = database_of_url("postgresql://me:pw@db/shop")
    event = _Session(postgres).call(sql="select * from Orders, hr.people")
    tables = ["shop.public.orders", "shop.hr.people"]
    assert _inputs(event) == [("postgres://db:5432", name) for name in tables]
    duckdb = database_of_url("duckdb:////data/shop.duckdb")
    event = _Session(duckdb).call(query="from read_parquet('s3://b/k.parquet') join t using (x)")
    assert _inputs(event) == [
        ("s3://b", "k.parquet"),
        ("duckdb:///data/shop.duckdb", "shop.main.t"),
    ]
    options = argument_parser().parse_args(["--namespace", "awsathena://x", "--dialect", "athena"])
    named = _Session(database_of(options)).call(sql="select 1 from db.t")
    assert _inputs(named) == [("awsathena://x", "db.t")]


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "rides from orders"},
        {"sql": 3},
        {"text": "select * from orders"},
        {"sql": "select 1"},
        {"sql": ""},
    ],
)
def test_other_arguments_are_not_recorded(arguments: dict[str, Any], sqlite: Database) -> None:
    event = _Session(sqlite).call(**arguments)
    assert (event["inputs"], event["outputs"]) == ([], [])
    assert "sql" not in event["job"]["facets"]


def test_without_a_database_no_argument_is_recorded() -> None:
    session = _Session()
    event = session.call(sql="select * from orders where token = 'abc123'", path="/etc/passwd")
    session.end()
    assert event["inputs"] == []
    assert not any(
        text in json.dumps(session.events.items) for text in ("orders", "abc123", "passwd")
    )


def test_secrets_in_statements_and_messages_are_masked(sqlite: Database) -> None:
    session = _Session(sqlite)
    arguments = {"sql": "select * from t where password = 'hunter2hunter2'"}
    session.request(1, "tools/call", name="t", arguments=arguments)
    text = {"type": "text", "text": "postgresql://me:hunter2hunter2@db/shop is down"}
    session.respond(1, content=[text], isError=True)
    assert "hunter2" not in json.dumps(session.events.items)


@pytest.mark.parametrize(
    ("uri", "inputs"),
    [
        ("file:///data/a%20b.csv", [("file", "/data/a b.csv")]),
        ("s3://bucket/key.parquet", [("s3://bucket", "key.parquet")]),
        ("https://me:pw@host/a.csv?sig=x", [("https://host", "a.csv")]),
        ("memo://me:pw@insights/today?token=x", [("mcp://program", "memo://insights/today")]),
        ("x://[", []),
        ("", []),
        (3, []),
    ],
)
def test_resources_are_inputs(uri: object, inputs: list[tuple[str, str]]) -> None:
    session = _Session(agent="a")
    session.request(1, "resources/read", uri=uri)
    session.respond(1, contents=[{"uri": uri, "text": "x"}])
    assert session.states == [
        ("a.program.read_resource", "START"),
        ("a.program.read_resource", "COMPLETE"),
    ]
    assert _inputs(session.events.items[-1]) == inputs


def test_session_without_calls_sends_nothing_unless_it_failed() -> None:
    session = _Session()
    session.request(1, "tools/list")
    session.end()
    assert session.events.items == []
    failed = _Session()
    failed.end("FAIL", "shop: No such file or directory")
    assert failed.states == [("agent", "START"), ("agent", "FAIL")]


@given(st.lists(st.binary(max_size=9) | st.just(b"\n"), max_size=30))
def test_lines_do_not_depend_on_the_pieces_that_arrive(pieces: list[bytes]) -> None:
    lines = Lines()
    found = [line for piece in pieces for line in lines.add(piece)]
    assert found == b"".join(pieces).split(b"\n")[:-1]


def test_too_long_and_incomplete_lines_are_left_out() -> None:
    lines = Lines(4)
    assert list(lines.add(b"abcde\nab")) == []
    assert list(lines.add(b"cd\nx")) == [b"abcd"]
    lines.skip()
    assert list(lines.add(b"y\nz\n")) == [b"z"]
