"""The tool with which agents report what they used."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from headwater.keys.store import add_key
from headwater.log import EventLog
from headwater.plugins.agents.tools import TOOLS
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, load_queries
from headwater.server._options import ServerOptions
from headwater.server.app import make_app

from .mcp_client import HEADERS, INITIALIZE, ask_tool, run_client, stdio_server

if TYPE_CHECKING:  # slow to import
    from mcp import Client


_OUTER = "01a2034a-4167-7786-99ab-548ead347699"


def _client(live: Live) -> TestClient:
    return TestClient(make_app(live, ServerOptions(keys_seconds=0)))


def _agent(log: EventLog, *scopes: str) -> dict[str, str]:
    """Return the headers of an agent with a new key."""
    key = add_key(log, "claude", scopes)
    return {"Authorization": f"Bearer {key}", "X-Headwater-Agent": "claude"}


def _call(client: TestClient, tool: str, headers: dict[str, str], **arguments: object) -> Any:
    parameters = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
    result = client.post("/mcp", json=body, headers=HEADERS | headers).json()["result"]
    text = result["content"][0]["text"]
    return text if result["isError"] else json.loads(text)


def _tools(client: TestClient, headers: dict[str, str]) -> set[str]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    response = client.post("/mcp", json=body, headers=HEADERS | headers)
    return {tool["name"] for tool in response.json()["result"]["tools"]}


def test_agent_reports_what_it_used(log: EventLog, small: Live) -> None:
    headers = _agent(log, "read", "write")
    new = {"namespace": "file", "name": "/report.md"}
    with _client(small) as client:
        assert _tools(client, headers) == {*TOOLS, "report"}
        first = _call(client, "report", headers, reads=["db:raw"])
        more = {"reads": ["end"], "writes": [new], "run": first["runId"]}
        assert _call(client, "report", headers, **more)["runId"] == first["runId"]
        used = _call(client, "upstream", headers, node="job:agents:claude", depth=1)
        readers = _call(client, "downstream", headers, node="dataset:db:raw", depth=1)
        source = _call(client, "upstream", headers, node="dataset:file:/report.md", depth=1)
    assert {item["id"] for item in used["upstream"]} == {"dataset:db:raw", "dataset:db:end"}
    assert "job:agents:claude" in {item["id"] for item in readers["affected"]}
    assert [item["id"] for item in source["upstream"]] == ["job:agents:claude"]


def test_report_of_an_unknown_dataset_writes_nothing(log: EventLog, small: Live) -> None:
    headers = _agent(log, "read", "write")
    with _client(small) as client:
        unknown = _call(client, "report", headers, reads=["end", "missing"])
        job = _call(client, "report", headers, reads=["job:demo:load"])
        empty = _call(client, "report", headers)
        agent = _call(client, "upstream", headers, node="job:agents:claude")
    assert [item["status"] for item in (unknown, job, agent)] == ["unknown"] * 3
    assert empty.startswith("reads, writes: received nothing")


@pytest.mark.parametrize("scopes", [("read",), ()])
def test_report_needs_a_key_with_scope_write(
    scopes: tuple[str, ...], log: EventLog, small: Live
) -> None:
    headers = _agent(log, *scopes) if scopes else {"X-Headwater-Agent": "claude"}
    options = ServerOptions(keys_seconds=0, is_exposed=False)
    with TestClient(make_app(small, options)) as client:
        assert _tools(client, headers) == set(TOOLS)
        assert "expected one of" in _call(client, "report", headers, reads=["end"])
        assert _call(client, "upstream", headers, node="job:agents:claude")["status"] == "unknown"


def test_report_is_off_unless_the_agent_is_named(log: EventLog, small: Live) -> None:
    headers = _agent(log, "read", "write")
    wrong = HEADERS | headers | {"X-Headwater-Agent": "a b"}
    del headers["X-Headwater-Agent"]
    with _client(small) as client:
        assert _tools(client, headers) == set(TOOLS)
        assert client.post("/mcp", json=INITIALIZE, headers=wrong).status_code == 400


@pytest.mark.server
def test_agent_over_stdio_reports_below_the_run_that_started_it(
    log: EventLog, live: Live, serving: Callable[..., str], build: Any
) -> None:
    live.ingest(Batch([build.entry(build.run("START", _OUTER, "outer", "08:00:00"))]))
    url = serving(make_app(live))
    key = add_key(log, "claude", ["read", "write"])
    options = ("--url", url, "--api-key", key, "--report-as", "claude")
    parent = f"demo/outer/{_OUTER}"

    async def report(client: Client) -> list[str]:
        read, written = ({"namespace": "db", "name": name} for name in ("a", "b"))
        results = [
            await client.call_tool("report", {"reads": [read]}),
            await client.call_tool("report", {"writes": [written]}),
        ]
        return [json.loads(item.content[0].text)["runId"] for item in results]  # type: ignore[union-attr]

    first, second = run_client(report, stdio_server(*options, OPENLINEAGE_PARENT_ID=parent))
    assert first == second
    tree = ask(live, load_queries()["runtree"], {"run": _OUTER})
    assert [run["runId"] for run in tree["children"]] == [first]
    upstream = ask_tool(live, "upstream", node="dataset:db:b")["upstream"]
    assert [item["id"] for item in upstream] == ["job:agents:claude", "dataset:db:a"]


@pytest.mark.parametrize("options", [["--database", "x.db", "--api-key", "k"], []])
def test_report_over_stdio_needs_a_server_and_a_key(
    options: list[str], call: Callable[..., Any]
) -> None:
    answer = call("mcp", "--report-as", "claude", *options)
    assert answer.returncode == 2
    assert "--report-as: needs a server" in answer.stderr
