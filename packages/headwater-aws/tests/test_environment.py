"""Configuration of the handlers: variables, and the key in Secrets Manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headwater.errors import ConfigError
from headwater_aws import worker
from headwater_aws._clients import client, number
from headwater_aws.authorizer import keys


@pytest.mark.server
def test_current_and_previous_key_are_read_from_the_secret(
    aws: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = aws("secretsmanager")
    secret = client.create_secret(Name="key", SecretString="first")["ARN"]
    monkeypatch.setenv("KEY_SECRET", secret)
    assert keys() == ["first"]
    client.put_secret_value(SecretId=secret, SecretString="second")
    assert keys() == ["second", "first"]
    client.close()


def test_missing_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    worker._worker.cache_clear()
    monkeypatch.delenv("QUEUE_URL", raising=False)
    with pytest.raises(ConfigError, match="variable QUEUE_URL is not set"):
        worker.handler({"Records": []}, None)


def test_invalid_number_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOST_RECEIVES", "ten")
    with pytest.raises(ConfigError, match="MOST_RECEIVES: received 'ten', expected a whole number"):
        number("MOST_RECEIVES", 10)


def test_region_is_read_from_either_variable(
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
