"""The server of the tools for agents: transports, access and limits."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from fastapi.testclient import TestClient

from headwater.keys.store import add_key
from headwater.log import EventLog
from headwater.plugins.agents._in_flight import limited
from headwater.projection.live import Live
from headwater.server._options import ServerOptions
from headwater.server.app import make_app
from packages.headwater.tests.support.servers import Server

from .mcp_client import FORECAST, HEADERS, INITIALIZE, run_client, stdio_server

if TYPE_CHECKING:  # slow to import
    from mcp import Client


async def _every_tool(client: Client) -> dict[str, Any]:
    table = "yellow_taxi_raw"
    calls: dict[str, dict[str, Any]] = {
        "find": {"text": "taxi"},
        "upstream": {"node": FORECAST},
        "downstream": {"node": table},
        "columns": {"node": "yellow_rides_hourly_actuals", "column": "rides"},
        "path": {"start": table, "end": FORECAST},
        "why": {"start": table, "end": "yellow_rides_hourly_actuals"},
        "compare": {"since": "2026-11-15T00:00:00Z"},
        "provenance": {"node": FORECAST},
        "incident": {"subject": "yellow_taxi_staging"},
        "version": {"version": "yellow_taxi_raw@164844157383115814"},
        "problems": {},
        "unused": {"days": 2},
        "recalls": {"node": FORECAST},
        "tags": {},
        "map": {"path": [""]},
    }
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert listed.keys() == calls.keys()
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed.values())
    answers = {}
    for name, arguments in calls.items():
        result = await client.call_tool(name, arguments)
        assert not result.is_error
        answers[name] = json.loads(result.content[0].text)  # type: ignore[union-attr]
    failed = await client.call_tool("upstream", {"node": 3})
    assert failed.is_error
    assert failed.content[0].text.startswith("node: received 3")  # type: ignore[union-attr]
    return answers


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_sdk_client_gets_answers_over_http(
    mode: str, taxi: Live, serving: Callable[..., str]
) -> None:
    url = serving(make_app(taxi))
    answers = run_client(_every_tool, f"{url}/mcp", mode)
    assert answers.pop("recalls")["status"] == "none"
    assert {answer["status"] for answer in answers.values()} == {"found"}
    assert answers["upstream"]["page"].startswith(f"{url}/lineage?node=")


@pytest.mark.server
def test_sdk_client_gets_answers_over_stdio(taxi: Live, serving: Callable[..., str]) -> None:
    url = serving(make_app(taxi))
    answers = run_client(_every_tool, stdio_server("--url", url))
    assert answers.pop("recalls")["status"] == "none"
    assert {answer["status"] for answer in answers.values()} == {"found"}
    assert answers["upstream"]["page"].startswith(f"{url}/lineage?node=")


@pytest.mark.server
def test_running_server_answers_and_stops(serve: Callable[..., Server], tmp_path: Any) -> None:
    server = serve(tmp_path / "log.db")
    answer = run_client(lambda client: client.call_tool("problems", {}), f"{server.url}/mcp")
    assert json.loads(answer.content[0].text)["status"] == "not_reported"
    assert server.stop() == 0


def test_mcp_needs_a_key_with_scope_read(log: EventLog, live: Live) -> None:
    options = ServerOptions(keys_seconds=0)
    keys = {scope: add_key(log, scope, [scope]) for scope in ("read", "write", "admin")}
    with TestClient(make_app(live, options)) as client:
        post = partial(client.post, "/mcp", json=INITIALIZE)
        assert post(headers=HEADERS).status_code == 401
        statuses = {
            scope: post(headers=HEADERS | {"Authorization": f"Bearer {key}"}).status_code
            for scope, key in keys.items()
        }
    assert statuses == {"read": 200, "write": 403, "admin": 200}


def test_mcp_has_the_limits_of_the_api(live: Live) -> None:
    with TestClient(make_app(live)) as client:
        assert client.get("/mcp", headers=HEADERS).status_code == 405
        assert client.delete("/mcp").status_code == 405
        large = client.post("/mcp", content=b"[" * 100_000, headers=HEADERS)
        assert large.status_code == 413
        foreign = HEADERS | {"Origin": "https://evil.example"}
        assert client.post("/mcp", json=INITIALIZE, headers=foreign).status_code == 403


def test_slow_query_of_a_tool_is_ended(small: Live) -> None:
    options = ServerOptions(longest_query=0)
    arguments = {"name": "upstream", "arguments": {"node": "end"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
    with TestClient(make_app(small, options)) as client:
        result = client.post("/mcp", json=body, headers=HEADERS).json()["result"]
    assert result["isError"]
    assert "the query takes longer" in result["content"][0]["text"]


@pytest.mark.server
def test_server_starts_without_the_sdk() -> None:
    code = "import headwater.server.app, sys; print('mcp' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert result.stdout.strip() == b"False"


def test_missing_sdk_is_reported(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    with TestClient(make_app(live)) as client:
        response = client.post("/mcp", json=INITIALIZE, headers=HEADERS)
    assert response.status_code == 400
    assert "headwater[mcp]" in response.json()["message"]


@pytest.mark.server
def test_server_over_stdio_ends_with_its_input() -> None:
    program = str(Path(sys.executable).with_name("headwater"))
    command = [program, "mcp", "--url", "http://localhost:9"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_client_that_reads_no_answers_has_limited_open_requests() -> None:
    began: list[int] = []

    async def main() -> None:
        sending, reader = anyio.create_memory_object_stream[Any](1_000)
        writer, receiving = anyio.create_memory_object_stream[Any](0)
        for number in range(100):
            request = SimpleNamespace(method="tools/call", id=number)
            sending.send_nowait(SimpleNamespace(message=request))
        async with (
            sending,
            reader,
            writer,
            receiving,
            limited(reader, writer, 4) as (requests, answers),
            anyio.create_task_group() as group,
        ):
            group.start_soon(_answer_all, requests, answers, began)
            await anyio.wait_all_tasks_blocked()
            assert len(began) == 4
            for _ in range(100):
                await receiving.receive()
            group.cancel_scope.cancel()

    anyio.run(main)
    assert began == list(range(100))


async def _answer_all(requests: Any, answers: Any, began: list[int]) -> None:
    """Start a task for each request, like the SDK."""
    async with anyio.create_task_group() as group:
        async for item in requests:
            began.append(item.message.id)
            answer = SimpleNamespace(message=SimpleNamespace(id=item.message.id))
            group.start_soon(answers.send, answer)
