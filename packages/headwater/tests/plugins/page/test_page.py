"""Serving the built page; without it, an explanation of how to build it."""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from headwater.log import EventLog
from headwater.plugins.page import endpoints as page
from headwater.projection.live import Live
from headwater.server._options import ServerOptions
from headwater.server.app import make_app

_APP = Path(__file__).parents[3] / "web" / "src" / "app" / "App.tsx"
_ADDRESSES = re.findall(r'case "(/[a-z]+)":', _APP.read_text())


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """Yield a client of a server whose page is in `built`, if it was built."""
    monkeypatch.setattr(page, "_BUILT", tmp_path / "built")
    log = EventLog(str(tmp_path / "log.db"))
    with TestClient(make_app(Live(log))) as client:
        yield client
    log.close()


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Return a built page."""
    assets = tmp_path / "built" / "assets"
    assets.mkdir(parents=True)
    (assets / "index-1a2b.js").write_text("let page")
    (tmp_path / "built" / "secret.txt").write_text("secret")
    (tmp_path / "built" / "index.html").write_text("<p>the page")
    return tmp_path / "built"


def test_page_shows_the_configured_command_name(
    client: TestClient, built: Path, tmp_path: Path
) -> None:
    html = Path(__file__).parents[3] / "web" / "index.html"
    (built / "index.html").write_bytes(html.read_bytes())
    assert 'name="program" content="headwater"' in client.get("/").text
    log = EventLog(str(tmp_path / "other.db"))
    other = TestClient(make_app(Live(log), ServerOptions(program="./run 'lineage' &")))
    for path in ("/", "/sample/lineage"):
        result = other.get(path).text
        assert 'name="program" content="./run &#x27;lineage&#x27; &amp;"' in result
    assert 'name="present" content=""' in other.get("/").text
    assert 'name="key" content=""' in other.get("/").text
    assert 'name="key" content="needed"' in other.get("/", auth=("any", "key")).text
    assert 'name="present" content="2026-11-20T03:00:00+00:00"' in other.get("/sample/").text
    log.close()


def test_server_without_a_built_page_explains_how_to_build_it(client: TestClient) -> None:
    answer = client.get("/")
    assert answer.status_code == 200
    assert "./run page" in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert client.get("/assets/index-1a2b.js").status_code == 404


@pytest.mark.usefixtures("built")
def test_page_addresses_return_the_page_or_304(
    client: TestClient,
) -> None:
    for path in ("/", "/lineage?node=x", "/run?job=x&id=y", *_ADDRESSES):
        first = client.get(path)
        assert (first.status_code, first.text) == (200, "<p>the page")
        tag = first.headers["etag"]
        again = client.get(path, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
        head = client.head(path)
        assert (head.status_code, head.headers["etag"]) == (200, tag)


def test_page_built_while_the_server_runs_is_served(client: TestClient, built: Path) -> None:
    html = built / "index.html"
    html.rename(built / "later.html")
    tag = client.get("/").headers.get("etag")
    (built / "later.html").rename(html)
    assert client.get("/").text == "<p>the page"
    html.write_text("<p>another page")
    assert client.get("/", headers={"If-None-Match": str(tag)}).text == "<p>another page"


@pytest.mark.usefixtures("built")
def test_assets_are_immutable_and_other_files_are_not_served(
    client: TestClient,
) -> None:
    part = client.get("/assets/index-1a2b.js")
    assert part.text == "let page"
    assert "immutable" in part.headers["cache-control"]
    assert part.headers["content-type"].startswith("text/javascript")
    for path in ("/assets/../secret.txt", "/assets/..%2Fsecret.txt", "/assets/other.js"):
        refused = client.get(path)
        assert (refused.status_code, refused.json()["code"]) == (404, 404), path


@pytest.mark.parametrize(
    ("accepted", "sent"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip;q=1.0, br;q=0", "gzip"),
        ("GZIP", "gzip"),
        ("br;q=0.5", "br"),
        ("deflate", None),
        ("", None),
    ],
)
def test_asset_has_the_smallest_encoding_that_the_client_accepts(
    accepted: str, sent: str | None, client: TestClient, built: Path
) -> None:
    name = "index-1a2b.js"
    text = "let page" * 500
    contents = {None: text.encode(), "gzip": gzip.compress(text.encode()), "br": b"brotli"}
    for encoding, suffix in ((None, ""), ("gzip", ".gz"), ("br", ".br")):
        (built / "assets" / f"{name}{suffix}").write_bytes(contents[encoding])
    headers = {"Accept-Encoding": accepted}
    with client.stream("GET", f"/assets/{name}", headers=headers) as answer:
        content = b"".join(answer.iter_raw())
    assert answer.headers.get("content-encoding") == sent
    assert content == contents[sent]
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["vary"] == "Accept-Encoding"  # also of the uncompressed one


@pytest.mark.usefixtures("built")
def test_other_addresses_do_not_return_the_page(client: TestClient) -> None:
    for path in ("/api", "/api/v2/nothing", "/api/v1/lineages", "/lineage/x", "/favicon.ico"):
        answer = client.get(path)
        assert answer.status_code == 404, path
        assert answer.json()["code"] == 404


@pytest.mark.usefixtures("built")
def test_browser_gets_the_not_found_page_at_unknown_addresses(
    client: TestClient,
) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    missing = client.get("/lineages", headers=browser)
    assert (missing.status_code, missing.text) == (404, "<p>the page")
    for path in ("/api/v2/nothing", "/assets/other.js"):
        assert client.get(path, headers=browser).json()["code"] == 404, path


def test_content_security_policy_allows_only_the_server(client: TestClient) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_content_security_policy_allows_only_the_inline_script_of_the_page(
    client: TestClient, built: Path
) -> None:
    (built / "index.html").write_text("<script>start()</script>")
    digest = b64encode(sha256(b"start()").digest()).decode()
    for path in ("/", "/sample/"):
        (policy,) = client.get(path).headers.get_list("content-security-policy")
        assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert "script-src" not in client.get("/api/v2/health").headers["content-security-policy"]
