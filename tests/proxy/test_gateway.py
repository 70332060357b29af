"""The stand-in for API Gateway makes the same checks in the same order."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from headwater_aws import authorizer, receiver
from infra.proxy_local.gateway import MOST_BYTES, PATH, gateway

from .conftest import serving

pytestmark = pytest.mark.server

KEY = {"Authorization": "Bearer key"}


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a gateway whose queue does not respond."""
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("PROXY_KEY", "key")
    monkeypatch.setenv("QUEUE_URL", "http://127.0.0.1:9/0/queue")
    for cached in (authorizer._authorizer, receiver._receiver):
        cached.cache_clear()
    server = gateway(0)
    with serving(server):
        yield f"http://127.0.0.1:{server.server_port}"
    for cached in (authorizer._authorizer, receiver._receiver):
        cached.cache_clear()


@pytest.mark.parametrize(
    ("path", "headers", "body", "status"),
    [
        ("/elsewhere", KEY, b"{}", 404),
        (PATH, {}, b"{}", 401),
        (PATH, {"Authorization": "Bearer another"}, b"{}", 403),
        (PATH, KEY, b"{}", 422),
        (PATH, KEY, b"x" * (MOST_BYTES + 1), 413),
    ],
)
def test_first_failing_check_determines_the_response(
    url: str, path: str, headers: dict[str, str], body: bytes, status: int
) -> None:
    assert httpx.post(f"{url}{path}", headers=headers, content=body).status_code == status


def test_chunked_body_is_joined(url: str) -> None:
    answer = httpx.post(f"{url}{PATH}", headers=KEY, content=iter([b'{"run":', b" 3}"]))
    assert answer.request.headers["Transfer-Encoding"] == "chunked"
    assert "eventTime: received nothing" in answer.json()["message"]
