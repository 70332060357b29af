"""SQL and source code are hidden from keys without the scope `sql`, in every response."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from headwater.hiding import REASON
from headwater.keys.store import add_key, keys_of
from headwater.log import EventLog, RejectedLine, entry_of, schema
from headwater.projection.live import Live
from headwater.server._hiding import _event_without_sql
from headwater.server._options import ServerOptions
from headwater.server.app import make_app
from headwater.server.sample import PRESENT
from headwater.wire import http_name
from packages.headwater.tests.support.sample import sample
from packages.headwater.tests.support.sample_queries import asked

_TEXTS = ("select * from landing", 'copy("imported"', "fit(read(days))")
_MCP = {"Accept": "application/json, text/event-stream"}

Responses = tuple[str, Any, Any]


def _stored(path: Path) -> Live:
    """Return the sample with a log that every thread can read."""
    memory = sample()
    log = EventLog(str(path / "log.db"))
    log.append([entry_of(body.encode()) for _, body in memory.log.read()])
    memory.log.close()
    return Live(log, clock=PRESENT.timestamp)


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, TestClient]]:
    """Yield clients of a sample by the scopes of their key."""
    live = _stored(tmp_path_factory.mktemp("sample"))
    line = RejectedLine("a.jsonl@0", "no event", f"{{ {_TEXTS[0]}")
    live.log.append([], rejected_lines=[line])
    app = make_app(live, ServerOptions(keys_seconds=0))
    found = {}
    for scopes in (("read",), ("read", "sql"), ("admin",)):
        key = add_key(live.log, "-".join(scopes), scopes)
        headers = {"Authorization": f"Bearer {key}"}
        found["-".join(scopes)] = TestClient(app, "http://localhost:9002", headers=headers)
    yield found
    live.log.close()


@pytest.fixture(scope="module")
def responses(clients: dict[str, TestClient]) -> list[Responses]:
    """Return the path of each request, and its responses with and without the scope for SQL."""
    live = sample()
    found = []
    for template, parameters in asked(live).items():
        for values in parameters:
            rest = {k: v for k, v in values.items() if k != "tail"}
            path = template
            for name in [name for name in rest if f"{{{name}}}" in path]:
                path = path.replace(f"{{{name}}}", quote(str(rest.pop(name)), safe=""))
            params = {http_name(name): value for name, value in rest.items()}
            whole, hidden = (clients[n].get(path, params=params) for n in ("read-sql", "read"))
            found.append((path, whole, hidden))
    live.log.close()
    return found


def _shows_code(value: Any) -> bool:
    """Return True if a string in decoded JSON contains SQL or code of the sample."""
    if isinstance(value, dict):
        return any(map(_shows_code, value.values()))
    if isinstance(value, list):
        return any(map(_shows_code, value))
    return isinstance(value, str) and any(text in value for text in _TEXTS)


@pytest.mark.replay
def test_no_query_shows_sql_or_code_without_the_scope(responses: list[Responses]) -> None:
    showing = set()
    for path, whole, hidden in responses:
        assert whole.status_code == hidden.status_code, path
        assert not _shows_code(hidden.json()), hidden.url
        if _shows_code(whole.json()):
            showing.add(path)
            assert REASON in hidden.text or '"matched":"sql"' in whole.text, whole.url
    # The test would prove nothing if the sample's answers had no SQL.
    own = {"/api/v2/node", "/api/v2/column", "/api/v2/events", "/api/v2/export"}
    assert showing >= own | {"/api/v1/events/lineage", "/api/v2/rejected"}


@pytest.mark.replay
def test_missing_scope_hides_only_sql_and_code(responses: list[Responses]) -> None:
    def without(value: Any) -> Any:
        if isinstance(value, dict):
            dropped = ("hidden", "sql", "source", "sourceCode", "query", "line")
            return {k: without(v) for k, v in value.items() if k not in dropped}
        return [without(item) for item in value] if isinstance(value, list) else value

    for path, whole, hidden in responses:
        if path not in ("/api/v2/search", "/api/v2/keys"):  # the last needs `admin`
            assert without(whole.json()) == without(hidden.json()), path


def test_search_does_not_reveal_that_sql_contains_a_text(clients: dict[str, TestClient]) -> None:
    params = {"text": "from landing"}
    whole = clients["read-sql"].get("/api/v2/search", params=params).json()
    hidden = clients["read"].get("/api/v2/search", params=params).json()
    assert {item["matched"] for item in whole["items"]} == {"sql"}
    assert whole["counts"]["sql"]
    assert (hidden["items"], hidden["counts"]["sql"]) == ([], 0)
    nowhere = {**params, "text": "from nowhere", "facets": "true"}
    assert (
        clients["read"].get("/api/v2/search", params={**params, "facets": "true"}).json()
        == clients["read"].get("/api/v2/search", params=nowhere).json()
    )


def _found(client: TestClient, text: str) -> Any:
    """Return the answer of the tool `find`."""
    arguments = {"name": "find", "arguments": {"text": text}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
    response = client.post("/mcp", json=body, headers=_MCP)
    assert response.status_code == 200
    (content,) = response.json()["result"]["content"]
    return json.loads(content["text"])


def test_tool_for_agents_does_not_reveal_that_sql_contains_a_text(
    clients: dict[str, TestClient],
) -> None:
    assert _found(clients["read-sql"], "from landing")["total"]
    hidden = _found(clients["read"], "from landing")
    nowhere = _found(clients["read"], "from nowhere")
    for answer in (hidden, nowhere):
        del answer["page"]  # it repeats the text
    assert hidden == nowhere
    assert (hidden["status"], hidden["total"]) == ("unknown", 0)


def test_hidden_response_has_no_tag_of_the_whole_one(clients: dict[str, TestClient]) -> None:
    params = {"node": "shop_daily.load.append"}
    assert "etag" in clients["read-sql"].get("/api/v2/node", params=params).headers
    assert "etag" not in clients["read"].get("/api/v2/node", params=params).headers


def test_stream_event_hides_sql_and_keeps_its_id() -> None:
    event = {"job": {"name": "j", "facets": {"sql": {"query": "select 1"}}}}
    chunk = _event_without_sql(f"id: 7\ndata: {json.dumps(event)}\n\n".encode()).decode()
    head, data, *rest = chunk.split("\n")
    assert (head, rest) == ("id: 7", ["", ""])
    facet = json.loads(data.removeprefix("data: "))["job"]["facets"]["sql"]
    assert facet == {"query": None, "hidden": REASON}
    assert _event_without_sql(b": still here\n\n") == b": still here\n\n"


def test_server_without_keys_shows_sql(tmp_path: Path) -> None:
    live = _stored(tmp_path)
    client = TestClient(make_app(live), "http://localhost:9002")
    node = client.get("/api/v2/node", params={"node": "shop_daily.load.append"}).json()
    assert node["sql"] == "insert into orders select * from landing"
    live.log.close()


@pytest.mark.each_database
def test_existing_read_keys_get_the_scope_once(database: str) -> None:
    log = EventLog(database)
    for name, scopes in (("old", ["read"]), ("spark", ["write"]), ("all", ["admin"])):
        add_key(log, name, scopes)
    with log.writing() as connection:
        connection.execute(schema.meta.update().values(value="5"))
    log.close()
    log = EventLog(database)
    add_key(log, "new", ["read"])
    log.close()
    log = EventLog(database)
    found = {key.name: (sorted(key.scopes), key.may("sql")) for key in keys_of(log)}
    assert found == {
        "old": (["read", "sql"], True),
        "new": (["read"], False),
        "spark": (["write"], False),
        "all": (["admin"], True),
    }
    log.close()
