"""Settings of `serve --kafka` that are invalid, with their messages, and the stored positions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headwater.errors import ConfigError
from headwater.log import EventLog
from headwater.plugins.kafka.partitions import Partition, Progress, metrics, save
from headwater.plugins.kafka.reader import workers
from headwater.projection.live import Live
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


@pytest.mark.each_database
def test_lag_is_that_of_the_last_check(log: EventLog) -> None:
    orders, rates = Partition("orders", 0), Partition("rates", 1)
    save(log, "a", {orders: Progress(0, 9), rates: Progress(5, 5)})
    save(log, "a", {orders: Progress(7, 9)})
    save(log, "b", {orders: Progress(1, 9)})
    lag, checked = metrics(Live(log))
    found = {tuple(sample.labels.values()): sample.value for sample in lag.samples}
    assert found == {("a", "orders", "0"): 2, ("a", "rates", "1"): 0, ("b", "orders", "0"): 8}
    assert len(checked.samples) == 3
