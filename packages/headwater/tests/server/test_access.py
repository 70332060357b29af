"""Access: keys and scopes, host names, other origins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from headwater.errors import ConfigError, NotFoundError
from headwater.keys.store import add_key, hash_of, keys_of, remove_key
from headwater.log import EventLog
from headwater.projection.live import Live
from headwater.server._options import ServerOptions
from headwater.server.app import make_app
from headwater.settings import resolve


@pytest.fixture
def client(live: Live) -> Iterator[TestClient]:
    app = make_app(live, _options())
    with TestClient(app, base_url="http://localhost:9002") as client:
        yield client


def _options(settings: dict[str, str] | None = None) -> ServerOptions:
    """Return options with which a new key takes effect at once."""
    return ServerOptions.of(resolve(settings)).model_copy(update={"keys_seconds": 0})


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.each_database
def test_key_is_stored_only_as_a_hash(log: EventLog) -> None:
    text = add_key(log, "spark", ["write", "read"])
    assert re.fullmatch(r"hw_[\w-]{43}", text)
    (key,) = keys_of(log)
    assert (key.name, sorted(key.scopes)) == ("spark", ["read", "write"])
    with log.reading() as connection:
        rows = connection.exec_driver_sql("SELECT * FROM keys").all()
    assert text not in str(rows)
    assert text[3:] not in str(rows)
    assert add_key(log, "dbt", ["write"]) != text
    remove_key(log, "spark")
    assert [key.name for key in keys_of(log)] == ["dbt"]


@pytest.mark.parametrize(
    ("name", "scopes", "message"),
    [
        ("", ["read"], "name: received ''"),
        ("a b", ["read"], "name: received 'a b'"),
        ("x" * 65, ["read"], "name: received"),
        ("a", [], "scopes: received ''"),
        ("a", ["read", "root"], "scopes: received 'read, root', expected some of read, write"),
        ("there", ["read"], "a key 'there' already exists"),
    ],
)
def test_invalid_key_is_rejected_with_the_reason(
    name: str, scopes: list[str], message: str, log: EventLog
) -> None:
    add_key(log, "there", ["read"])
    with pytest.raises(ConfigError, match=message):
        add_key(log, name, scopes)
    with pytest.raises(NotFoundError) as caught:
        remove_key(log, "none")
    assert caught.value.nearest == ("there",)


@pytest.mark.parametrize(
    ("scopes", "statuses"),
    [
        (["read"], (200, 403, 403, 403, 403, 403, 403)),
        (["write"], (403, 201, 403, 403, 400, 400, 403)),
        (["read", "write"], (200, 201, 403, 403, 400, 400, 403)),
        (["admin"], (200, 201, 200, 201, 400, 400, 400)),
    ],
)
def test_key_only_allows_its_scopes(
    scopes: list[str], statuses: tuple[int, ...], client: TestClient, live: Live, build: Any
) -> None:
    headers = _bearer(add_key(live.log, "k", scopes))
    event = build.run("START", "r", "j", "08:00:00")
    answers = [
        client.get("/api/v1/jobs", headers=headers),
        client.post("/api/v1/lineage", json=event, headers=headers),
        client.get("/api/v2/keys", headers=headers),
        client.post("/api/v2/keys", json={"name": "n", "scopes": ["read"]}, headers=headers),
        client.post("/api/v2/findings", json={}, headers=headers),  # 400: no subject
        client.post("/api/v2/taints", json={}, headers=headers),  # 400: no version
        client.post("/api/v2/aliases", json={}, headers=headers),  # 400: no datasets
    ]
    assert tuple(answer.status_code for answer in answers) == statuses
    needs = ("read", "write", "admin", "admin", "write", "write", "admin")
    for answer, needed in zip(answers, needs, strict=True):
        if answer.status_code == 403:
            had = ", ".join(scopes)
            message = f"the key 'k' has the scope {had}; this needs {needed}"
            assert answer.json()["message"] == message


@pytest.mark.each_database
def test_first_key_requires_authentication_and_setting_key_is_admin(live: Live) -> None:
    client = TestClient(make_app(live, _options({"api_key": "from-the-environment"})))
    without = client.get("/api/v1/jobs")
    assert (without.status_code, "is needed" in without.text) == (401, True)
    admin = _bearer("from-the-environment")
    created = client.post("/api/v2/keys", json={"name": "a", "scopes": ["read"]}, headers=admin)
    assert created.status_code == 201
    own = _bearer(created.json()["key"])
    assert client.get("/api/v1/jobs", headers=own).status_code == 200
    (listed,) = client.get("/api/v2/keys", headers=admin).json()
    assert (listed["name"], listed["scopes"], set(listed)) == (
        "a",
        ["read"],
        {"name", "scopes", "createdAt"},
    )
    assert client.delete("/api/v2/keys/a", headers=admin).status_code == 204
    gone = client.get("/api/v1/jobs", headers=own)
    assert (gone.status_code, "is not a key of this server" in gone.text) == (401, True)
    assert client.delete("/api/v2/keys/a", headers=admin).status_code == 404
    bad = client.post("/api/v2/keys", json={"name": "b", "scopes": ["all"]}, headers=admin)
    assert (bad.status_code, "expected some of read" in bad.text) == (400, True)


def test_first_key_over_http_must_be_able_to_manage_keys(client: TestClient, live: Live) -> None:
    rejected = client.post("/api/v2/keys", json={"name": "a", "scopes": ["read"]})
    assert (rejected.status_code, keys_of(live.log)) == (400, [])
    assert "the first key must have the scope admin" in rejected.json()["message"]
    created = client.post("/api/v2/keys", json={"name": "a", "scopes": ["admin"]})
    headers = _bearer(created.json()["key"])
    second = client.post("/api/v2/keys", json={"name": "b", "scopes": ["read"]}, headers=headers)
    assert second.status_code == 201


def test_loopback_without_keys_is_open_until_a_key_exists(client: TestClient, live: Live) -> None:
    assert client.get("/api/v1/jobs").status_code == 200
    key = add_key(live.log, "a", ["read"])
    assert client.get("/api/v1/jobs").status_code == 401
    assert client.get("/healthz").status_code == 200
    assert client.get("/api/v1/jobs", headers=_bearer(key)).status_code == 200
    for odd in ("Bearer", "Bearer ä", "Basic %%%", key, f"Bearer {key}x"):
        answer = client.get("/api/v1/jobs", headers={b"Authorization": odd.encode()})
        assert answer.status_code == 401, odd


def test_exposed_server_without_keys_rejects_all_requests(live: Live) -> None:
    client = TestClient(make_app(live, _options({"host": "0.0.0.0"})))
    assert client.get("/api/v1/jobs").status_code == 401
    key = add_key(live.log, "a", ["read"])
    assert client.get("/api/v1/jobs", headers=_bearer(key)).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("localhost:9002", 200), ("127.0.0.1", 200), ("[::1]:9002", 200), ("LOCALHOST", 200)),
        *(("evil.example", 421), ("localhost.evil.example:9002", 421), ("[::1", 421), ("", 421)),
    ],
)
def test_without_a_key_only_loopback_host_names_are_accepted(
    host: str, status: int, client: TestClient, live: Live
) -> None:
    assert client.get("/api/v1/jobs", headers={"Host": host}).status_code == status
    key = add_key(live.log, "a", ["read"])
    answer = client.get("/api/v1/jobs", headers={"Host": host, **_bearer(key)})
    assert answer.status_code == 200


def test_other_origin_can_neither_post_nor_read(client: TestClient, build: Any) -> None:
    event = build.run("START", "r", "j", "08:00:00")
    for origin in ("https://evil.example", "null", "http://localhost:1", "http://["):
        answer = client.post("/api/v1/lineage", json=event, headers={"Origin": origin})
        assert (answer.status_code, origin in answer.json()["message"]) == (403, True)
        read = client.get("/api/v1/jobs", headers={"Origin": origin})
        assert not [name for name in read.headers if name.startswith("access-control")]
    own = {"Origin": "http://localhost:9002"}
    assert client.post("/api/v1/lineage", json=event, headers=own).status_code == 201


def test_every_response_has_security_headers(live: Live) -> None:
    client = TestClient(make_app(live, _options({"api_key": "k"})))
    for path in ("/", "/healthz", "/api/v1/jobs"):
        headers = client.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    origins = {"frame_origins": "http://localhost:9090 https://airflow.example"}
    client = TestClient(make_app(live, _options(origins)))
    policy = client.get("/", headers={"Host": "localhost"}).headers["Content-Security-Policy"]
    assert policy.endswith("frame-ancestors http://localhost:9090 https://airflow.example")
    with pytest.raises(ConfigError, match=r"frame_origins \(.*\): received 'x;'"):
        resolve({"frame_origins": "x;"})


def test_unreadable_keys_keep_their_last_known_state(live: Live) -> None:
    key = add_key(live.log, "a", ["read"])
    known, fresh = (TestClient(make_app(live, ServerOptions(keys_seconds=0))) for _ in range(2))
    assert known.get("/api/v1/jobs", headers=_bearer(key)).status_code == 200

    with live.log.writing() as connection:
        connection.exec_driver_sql("DROP TABLE keys")
    assert known.get("/api/v1/jobs", headers=_bearer(key)).status_code == 200
    assert known.get("/api/v1/jobs").status_code == 401
    assert fresh.get("/api/v1/jobs", headers=_bearer(key)).status_code == 503


def _output(call: Any, *arguments: str) -> str:
    """Return the output of a command that must succeed."""
    answer = call(*arguments)
    assert answer.returncode == 0, answer.stderr
    return str(answer.stdout)


@pytest.mark.each_database
def test_command_line_manages_keys_of_a_log(call: Any, database: str) -> None:
    where = ("--database", database)
    text = _output(call, "keys", "add", "spark", "--scope", "write, read", *where).strip()
    log = EventLog(database)
    assert [key.hash for key in keys_of(log)] == [hash_of(text)]
    assert json.loads(_output(call, "keys", "list", "--json", *where))[0]["scopes"] == [
        "read",
        "write",
    ]
    assert _output(call, "keys", "list", *where).split()[:5] == [
        *("name", "scopes", "since"),
        *("spark", "read,write"),
    ]
    _output(call, "keys", "remove", "spark", *where)
    assert _output(call, "keys", "list", *where) == "No keys.\n"
    assert keys_of(log) == []
    log.close()


def test_command_line_manages_keys_of_a_server(
    call: Any, live: Live, serving: Callable[[FastAPI], str]
) -> None:
    where = ("--url", serving(make_app(live, _options({"api_key": "k"}))), "--api-key", "k")
    text = _output(call, "keys", "add", "spark", "--scope", "read", *where).strip()
    assert [key.hash for key in keys_of(live.log)] == [hash_of(text)]
    wrong = call("keys", "add", "reed", "--scope", "reed", *where)
    assert (wrong.returncode, "expected some of read, write" in wrong.stderr) == (2, True)
    assert "cannot be shown again" in call("keys", "add", "other", "--scope", "read", *where).stderr
    _output(call, "keys", "remove", "other", *where)
    assert _output(call, "keys", "list", *where).split()[3:5] == ["spark", "read"]
    _output(call, "keys", "remove", "spark", *where)
    assert keys_of(live.log) == []
