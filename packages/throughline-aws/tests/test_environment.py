"""What the handlers are set up by: variables, and the key in Secrets Manager."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from moto.server import ThreadedMotoServer

from throughline.errors import ConfigError
from throughline_aws import worker
from throughline_aws.authorizer import keys
from throughline_aws.clients import client, number


@pytest.fixture
def secrets_manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """URL of a stand-in of AWS."""
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    yield f"http://{host}:{port}"
    server.stop()


def test_the_key_and_the_one_before_it_are_read_from_the_secret(
    secrets_manager: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = boto3.client("secretsmanager", endpoint_url=secrets_manager)
    secret = client.create_secret(Name="key", SecretString="first")["ARN"]
    monkeypatch.setenv("KEY_SECRET", secret)
    assert keys() == ["first"]
    client.put_secret_value(SecretId=secret, SecretString="second")
    assert keys() == ["second", "first"]
    client.close()


def test_a_variable_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    worker._worker.cache_clear()
    monkeypatch.delenv("QUEUE_URL", raising=False)
    with pytest.raises(ConfigError, match="no variable QUEUE_URL"):
        worker.handler({"Records": []}, None)


def test_a_number_that_is_none_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOST_RECEIVES", "ten")
    with pytest.raises(ConfigError, match="MOST_RECEIVES: received 'ten', expected a whole number"):
        number("MOST_RECEIVES", 10)


def test_the_region_may_be_in_the_variable_of_aws_or_of_boto3(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    assert client("sqs", tries=1).meta.region_name == "eu-west-3"
    assert client("sqs", tries=1, region="eu-west-1").meta.region_name == "eu-west-1"
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(ConfigError, match="AWS_REGION"):
        client("sqs", tries=1)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")
    assert client("sqs", tries=1).meta.region_name == "eu-west-2"
