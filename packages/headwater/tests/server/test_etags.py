"""ETags: an unchanged response is a 304."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from headwater.http.tags import KnownTags
from headwater.log import EventLog
from headwater.projection.live import Batch, Live
from headwater.server.app import make_app

_GRAPHS = (
    "/api/v1/lineage?nodeId=dataset:db:u",
    "/api/v1/column-lineage?nodeId=dataset:db:u",
    "/api/v2/tree?node=u",
    "/api/v2/columns?node=u",
    "/api/v2/impact?node=t&depth=5",
    "/api/v2/provenance?node=u",
    "/api/v2/edges",
    "/api/v2/diff?from=2025-11-21T07:00:00Z",
    "/api/v2/export",
)


@pytest.fixture
def live(tmp_path: Path, build: Any) -> Iterator[Live]:
    """Return a log in which a job reads t and writes u."""
    live = Live(EventLog(str(tmp_path / "log.db")))
    live.ingest(Batch([_makes(build, "08", "t", "u")]))
    yield live
    live.log.close()


def _makes(build: Any, hour: str, of: str, made: str) -> Any:
    event = build.run("COMPLETE", hour, f"to_{made}", f"{hour}:00:00", reads=(f"db|{of}",))
    columns = {"fields": {"x": {"inputFields": [{"namespace": "db", "name": of, "field": "x"}]}}}
    event["outputs"] = [build.dataset(f"db|{made}", columnLineage=columns)]
    return build.entry(event)


@pytest.mark.parametrize("path", _GRAPHS)
def test_etag_changes_with_the_response(path: str, live: Live, build: Any) -> None:
    with TestClient(make_app(live)) as client:
        first = client.get(path)
        tag = first.headers["etag"]
        same = client.get(path, headers={"If-None-Match": tag})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
        live.ingest(Batch([_makes(build, "07", "s", "t"), _makes(build, "09", "u", "v")]))
        other = client.get(path, headers={"If-None-Match": tag})
    assert other.status_code == 200
    assert (other.json() == first.json(), other.headers["etag"] == tag) == (False, False)


def _not_read(*_: object) -> None:
    raise AssertionError("the state was read")


@pytest.mark.parametrize("path", [*_GRAPHS, "/api/v2/jobs", "/api/v2/search?text=to_"])
def test_unchanged_response_is_not_computed_again(
    path: str, live: Live, build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    minutes = [0.0]
    app = make_app(live)
    app.state.known_tags = KnownTags(lambda: 60 * minutes[0])
    with TestClient(app) as client:
        headers = {"If-None-Match": client.get(path).headers["etag"]}
        with monkeypatch.context() as patch:
            patch.setattr(live, "reading", _not_read)
            assert client.get(path, headers=headers).status_code == 304
            with pytest.raises(AssertionError, match="the state was read"):
                client.get("/api/v2/jobs?limit=7", headers=headers)
            minutes[0] += 1
            with pytest.raises(AssertionError, match="the state was read"):
                client.get(path, headers=headers)
            minutes[0] -= 1
            assert client.get(path, headers=headers).status_code == 304
            again = build.run("COMPLETE", "08", "to_u", "08:00:01")  # neither a run nor a dataset
            live.ingest(Batch([build.entry(again)]))
            with pytest.raises(AssertionError, match="the state was read"):
                client.get(path, headers=headers)
        live.ingest(Batch([_makes(build, "07", "s", "t"), _makes(build, "09", "u", "v")]))
        assert client.get(path, headers=headers).status_code == 200


def test_muted_finding_changes_the_response_at_once(live: Live, build: Any) -> None:
    live.ingest(Batch([build.entry(build.run("FAIL", "9", "j", "10:00:00"))]))
    with TestClient(make_app(live)) as client:
        first = client.get("/api/v2/findings")
        muted = {"subject": "j", "kind": "failed", "state": "muted"}
        assert client.post("/api/v2/findings", json=muted).status_code == 201
        headers = {"If-None-Match": first.headers["etag"]}
        assert client.get("/api/v2/findings", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("known", "status"),
    [
        ("*", 304),
        (" * ", 304),
        ("{}", 304),
        ("W/{}", 304),
        ('"a", {}', 304),
        ('W/"a,b",W/{},"c"', 304),
        ('"a"', 200),
        ('"a", *', 200),
        ("", 200),
    ],
)
def test_lists_weak_tags_and_a_star_are_understood(known: str, status: int, live: Live) -> None:
    with TestClient(make_app(live)) as client:
        tag = client.get("/api/v2/tree?node=u").headers["etag"]
        headers = {"If-None-Match": known.format(tag.removeprefix("W/"))}
        assert client.get("/api/v2/tree?node=u", headers=headers).status_code == status
        assert client.get("/api/v2/tree?node=none", headers=headers).status_code == 404


def test_run_becoming_stale_changes_the_etag(live: Live, build: Any) -> None:
    live.ingest(Batch([build.entry(build.run("START", "1", "j", "10:00:00", writes=("db|w",)))]))
    with TestClient(make_app(Live(live.log, lost_after=100 * 365 * 86_400))) as client:
        tag = client.get("/api/v2/tree?node=w").headers["etag"]
    with TestClient(make_app(live)) as client:
        answer = client.get("/api/v2/tree?node=w", headers={"If-None-Match": tag})
    assert (answer.status_code, "LOST" in answer.text) == (200, True)


def test_real_server_returns_304_without_a_body(
    live: Live, serving: Callable[[FastAPI], str]
) -> None:
    url = serving(make_app(live)) + "/api/v2/tree?node=u"
    with urlopen(url, timeout=10) as response:
        tag, kept = response.headers["ETag"], response.headers["Cache-Control"]
    assert kept == "private, no-cache"
    with pytest.raises(HTTPError) as caught, urlopen(Request(url, headers={"If-None-Match": tag})):
        pass
    assert (caught.value.code, caught.value.headers["ETag"], caught.value.read()) == (304, tag, b"")


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_compressed_response_has_the_same_weak_tag(encoding: str, live: Live) -> None:
    with TestClient(make_app(live)) as client:
        path, headers = "/api/v2/tree?node=u", {"Accept-Encoding": encoding}
        first = client.get(path, headers=headers)
        assert first.headers.get("content-encoding", "identity") == encoding
        assert "accept-encoding" in first.headers["vary"].lower()
        tag = first.headers["etag"]
        assert tag.startswith('W/"')
        other = client.get(path, headers={"Accept-Encoding": "gzip, br", "If-None-Match": tag})
    assert (other.status_code, other.content, other.headers["etag"]) == (304, b"", tag)
    assert "content-encoding" not in other.headers
