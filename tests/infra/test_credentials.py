"""Errors of AWS are reported with a fix before anything is changed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
import httpx
import pytest

from commands.infra import create_infra, destroy_infra
from infra.errors import (
    CredentialsRefused,
    InfraError,
    NoCredentials,
    NotAllowed,
    Unreachable,
    WrongAccount,
)
from lakehouse.errors import PipelineError
from lakehouse.settings import Settings, load_settings

pytestmark = pytest.mark.server


@pytest.fixture
def refusing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Return the settings of a server that rejects every request with one of AWS's errors."""
    code = request.param

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = (
                "<ErrorResponse><Error><Type>Sender</Type>"
                f"<Code>{code}</Code><Message>No.</Message></Error></ErrorResponse>"
            ).encode()
            self.send_response(403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    yield load_settings(state_dir=tmp_path, aws_endpoint_url=url)
    server.shutdown()
    thread.join()
    server.server_close()


def test_missing_credentials_error_explains_the_login(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(NoCredentials, match="aws sso login"):
        create_infra(settings, dry_run=True, yes=False)


def test_unknown_profile_error_lists_the_profiles(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text("[profile sandbox]\nregion = us-east-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    with pytest.raises(NoCredentials, match="no AWS profile 'sandbx'.*sandbox"):
        create_infra(settings.model_copy(update={"aws_profile": "sandbx"}), dry_run=True, yes=False)


@pytest.mark.parametrize(
    ("refusing", "error", "advice"),
    [
        ("ExpiredToken", CredentialsRefused, "Log in again"),
        ("InvalidClientTokenId", CredentialsRefused, "Check --profile"),
        ("AccessDenied", NotAllowed, "infra/README.md"),
        ("SomethingElse", InfraError, "GetCallerIdentity"),
    ],
    indirect=["refusing"],
    ids=["expired", "unknown key", "denied", "other"],
)
def test_rejection_error_has_a_fix(
    refusing: Settings, error: type[InfraError], advice: str
) -> None:
    with pytest.raises(error, match=advice) as caught:
        create_infra(refusing, dry_run=True, yes=False)
    assert type(caught.value) is error
    assert isinstance(caught.value, PipelineError)


def test_missing_permission_is_reported(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    iam = boto3.client("iam", endpoint_url=settings.aws_endpoint_url, region_name="us-east-1")
    iam.create_user(UserName="guest")
    key = iam.create_access_key(UserName="guest")["AccessKey"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key["SecretAccessKey"])
    policies = f"{settings.aws_endpoint_url}/moto-api/reset-auth"
    httpx.post(policies, content=b"0").raise_for_status()
    try:
        with pytest.raises(NotAllowed, match="cloudformation:DescribeStacks"):
            destroy_infra(settings, dry_run=True, yes=False)
    finally:
        httpx.post(policies, content=b"inf").raise_for_status()


def test_unresponsive_endpoint_is_reported(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        settings = load_settings(state_dir=tmp_path, aws_endpoint_url=url)
        with pytest.raises(Unreachable, match=f"{url}.*AWS_ENDPOINT_URL"):
            create_infra(settings, dry_run=True, yes=False)


def test_credentials_of_another_account_are_rejected(settings: Settings) -> None:
    other = settings.model_copy(update={"aws_account": "999999999999"})
    with pytest.raises(WrongAccount, match="123456789012.*999999999999"):
        create_infra(other, dry_run=True, yes=False)
