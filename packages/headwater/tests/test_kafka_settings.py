"""Invalid settings of `serve --kafka` and their messages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headwater.errors import ConfigError
from headwater.kafka.reader import workers
from headwater.settings import Settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("group.id: mine", "received group.id, which the server sets"),
        ("sesion.timeout.ms: 5", 'No such configuration property: "sesion.timeout.ms"'),
        ("session.timeout.ms: soon", 'Invalid value for configuration property "session.timeout'),
        ("sasl.password_env: KAFKA_PASSWORD", "environment variable KAFKA_PASSWORD is not set"),
        ("sasl:\n  password: x", "expected properties of librdkafka"),
        ("- x", "expected properties of librdkafka"),
    ],
)
def test_invalid_property_is_named(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAFKA_PASSWORD", raising=False)
    file = tmp_path / "kafka.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as raised:
        workers(Settings(kafka="127.0.0.1:9", kafka_properties=file))
    assert message in str(raised.value)


def test_value_of_an_environment_variable_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SESSION", "soon")
    file = tmp_path / "kafka.yaml"
    file.write_text("session.timeout.ms_env: SESSION")
    with pytest.raises(ConfigError, match="Invalid value"):
        workers(Settings(kafka="127.0.0.1:9", kafka_properties=file))


def test_no_topic_and_a_missing_package_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="kafka_topics: received none"):
        workers(Settings(kafka="127.0.0.1:9", kafka_topics=" , "))
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ConfigError, match=r"confluent-kafka is missing.*\[kafka\]"):
        workers(Settings(kafka="127.0.0.1:9"))
    assert workers(Settings())(None) == []  # type: ignore[arg-type]
