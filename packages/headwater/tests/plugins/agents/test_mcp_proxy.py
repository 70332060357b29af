"""`headwater mcp-proxy` between the SDK's client and a real server on a real database."""

from __future__ import annotations

import json
import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import duckdb
import orjson
import pytest

from headwater.log import EventLog, entry_of
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, load_queries

pytestmark = pytest.mark.server

_SERVER = str(Path(__file__).with_name("mcp_database.py"))
_PROXY = ["-c", "from headwater_client.main import main; main()", "mcp-proxy"]
_ROWS = "create table orders as select 1 as id, 2.5 as total"


@pytest.fixture(params=["sqlite", "duckdb"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """Return the kind and the file of a database with the tables orders and customers."""
    file = tmp_path / f"shop.{request.param}"
    connection: Any = (sqlite3 if request.param == "sqlite" else duckdb).connect(str(file))
    for statement in (_ROWS, "create table customers as select 7 as id"):
        connection.execute(statement)
    connection.commit()
    connection.close()
    return request.param, file


def _transport(*arguments: str, **environ: str) -> Any:
    from mcp import StdioServerParameters, stdio_client

    command = StdioServerParameters(command=sys.executable, args=[*arguments], env=environ or None)
    return stdio_client(command, errlog=sys.__stderr__ or sys.stderr)


async def _answers(transport: Any, mode: str) -> list[str]:
    """Return the answers to some calls, and what the client knows about the server."""
    from mcp import Client

    async with Client(transport, mode=mode) as client:
        results = [
            await client.list_tools(),
            await client.call_tool("read_query", {"sql": "select id, total from orders"}),
            await client.call_tool("read_query", {"sql": "select * from ordes"}),
            await client.call_tool("read_query", {"sql": "select id from customers"}),
            await client.call_tool("read_query", {"no": "argument"}),
            await client.read_resource("memo://orders"),
        ]
        return [result.model_dump_json() for result in results]


def _load(shop: tuple[str, Path], days: int) -> bytes:
    """Return an event of the job that loads the table orders, some days ago."""
    kind, file = shop
    prefix = {"sqlite": "", "duckdb": "shop.main."}[kind]
    source, target = (
        {"namespace": f"{kind}://{file}", "name": f"{prefix}{name}"} for name in ("src", "orders")
    )
    event = {
        "eventType": "COMPLETE",
        "eventTime": (datetime.now(UTC) - timedelta(days=days)).isoformat(),
        "run": {"runId": f"01a1fd3d-1a97-7b7f-8cb0-753b3dcc{days:04}"},
        "job": {"namespace": "etl", "name": "load"},
        "inputs": [source],
        "outputs": [target],
    }
    return orjson.dumps(event)


def _events(spool: Path) -> list[bytes]:
    return [line for file in spool.glob("*.jsonl") for line in file.read_bytes().splitlines()]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_agent_is_a_reader_and_its_answers_are_the_same(
    mode: str, shop: tuple[str, Path], tmp_path: Path, log: EventLog, live: Live
) -> None:
    kind, file = shop
    server = [_SERVER, kind, str(file)]
    direct = anyio.run(_answers, _transport(*server), mode)
    spool = tmp_path / "spool"
    options = ["--agent", "claude", "--database", f"{kind}:///{file}", "--spool", str(spool)]
    proxied = anyio.run(
        _answers, _transport(*_PROXY, *options, "--", sys.executable, *server), mode
    )
    assert proxied == direct

    def query(name: str, **params: object) -> Any:
        return ask(live, load_queries()[name], params)

    live.ingest(Batch([entry_of(_load(shop, days)) for days in (40, 35, 20, 2)]))
    assert [item["verdict"] for item in query("unused", days=30)["items"]] == ["unused"]
    live.ingest(Batch([entry_of(event) for event in _events(spool)]))
    assert query("unused", days=30)["items"] == []
    job = "job:agents:claude.shop.read_query"
    prefix = f"dataset:{kind}://{file}:" + {"sqlite": "", "duckdb": "shop.main."}[kind]
    for table in ("orders", "customers"):
        affected = query("impact", node=prefix + table)["affected"]
        assert [item["id"] for item in affected] == [job]
    (pipeline,) = query("impact", node=prefix + "orders", level="pipeline")["affected"]
    assert pipeline["id"] == "job:agents:claude"
    names = {item["name"] for item in query("datasets")["items"]}
    assert not any(name.endswith("ordes") for name in names)  # the failed statement
    assert "memo://orders" in names
    states = [
        json.loads(event)["eventType"]
        for event in _events(spool)
        if json.loads(event)["job"]["name"] == job.removeprefix("job:agents:")
    ]
    assert states == ["START", "COMPLETE", "START", "FAIL", "START", "COMPLETE", "START", "FAIL"]


def test_server_that_is_killed_in_a_call_ends_the_run(
    shop: tuple[str, Path], tmp_path: Path
) -> None:
    from mcp import Client, MCPError

    kind, file = shop
    spool = tmp_path / "spool"
    options = ["--database", f"{kind}:///{file}", "--spool", str(spool)]
    server = ["--", sys.executable, _SERVER, kind, str(file)]

    async def call() -> None:
        async with Client(_transport(*_PROXY, *options, *server)) as client:
            await client.call_tool("crash", {"sql": "select * from orders"})

    with pytest.raises((MCPError, BaseExceptionGroup)):
        anyio.run(call)
    ends = [json.loads(event) for event in _events(spool)]
    assert [(event["job"]["name"], event["eventType"]) for event in ends] == [
        ("mcp.shop.crash", "START"),
        ("mcp.shop.crash", "ABORT"),
        ("mcp", "START"),
        ("mcp", "ABORT"),
    ]
    message = ends[-1]["run"]["facets"]["errorMessage"]["message"]
    assert message.endswith("was ended by SIGKILL")
