from __future__ import annotations

import json
import socket
from typing import Any, cast

import pytest
from openlineage.client.transport import get_default_factory

from lakehouse.backends import (
    BACKENDS,
    lineage_environ,
    python_transport,
    spark_transport,
    unanswered,
)
from lakehouse.errors import SettingsError
from lakehouse.settings import REPOSITORY, load_settings


@pytest.mark.parametrize("name", [n for n in BACKENDS if n != "datazone"])
def test_openlineage_itself_makes_a_transport_of_every_backend(name: str) -> None:
    settings = load_settings(lineage_backend=name)
    transport = get_default_factory().create(cast(Any, python_transport(settings)))
    assert transport is not None


def test_several_backends_become_a_composite_in_which_one_failure_stops_nothing() -> None:
    settings = load_settings(lineage_backend="embedded,marquez,https://lineage.example")
    transport = python_transport(settings)
    assert transport["type"] == "composite"
    assert transport["continue_on_failure"] is True
    conf = spark_transport(settings, "app")
    assert conf["spark.openlineage.transport.type"] == "composite"
    assert conf["spark.openlineage.transport.transports.t0.type"] == "file"
    assert conf["spark.openlineage.transport.transports.t2.url"] == "https://lineage.example"


def test_an_http_backend_waits_once_and_briefly() -> None:
    transport = python_transport(load_settings(lineage_backend="marquez"))
    assert transport["timeout"] == 2
    assert set(json.loads(json.dumps(transport["retry"])).values()) == {0}


def test_an_api_key_goes_to_python_and_spark_alike() -> None:
    settings = load_settings(lineage_backend="datahub", datahub_token="tok")
    assert python_transport(settings)["auth"] == {"type": "api_key", "apiKey": "tok"}
    conf = spark_transport(settings, "app")
    assert conf["spark.openlineage.transport.auth.apiKey"] == "tok"


def test_spark_writes_to_the_spool_where_the_backend_is_datazone_alone() -> None:
    settings = load_settings(lineage_backend="datazone", datazone_domain_id="dzd_1")
    assert python_transport(settings)["domainId"] == "dzd_1"
    assert spark_transport(settings, "app")["spark.openlineage.transport.type"] == "file"


def test_datazone_without_a_domain_says_what_is_missing() -> None:
    with pytest.raises(SettingsError, match="DATAZONE_DOMAIN_ID"):
        lineage_environ(load_settings(lineage_backend="datazone"))


def test_an_unknown_backend_is_answered_with_those_that_exist() -> None:
    with pytest.raises(SettingsError, match="'databub'.*embedded.*openmetadata.*URL"):
        python_transport(load_settings(lineage_backend="databub"))


def test_the_page_on_backends_lists_each_with_its_description() -> None:
    page = (REPOSITORY / "docs" / "backends.md").read_text()
    for backend in BACKENDS.values():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{backend.name}` |"))
        assert backend.description.split(";")[0] in row
        assert ("none" in row) is not backend.spark


def test_a_backend_at_which_nothing_listens_is_told_from_one_that_answers() -> None:
    with socket.socket() as listening, socket.socket() as silent:
        for each in (listening, silent):
            each.bind(("127.0.0.1", 0))
        listening.listen()
        urls = [f"http://127.0.0.1:{each.getsockname()[1]}" for each in (listening, silent)]
        settings = load_settings(lineage_backend=",".join(["embedded", "console", *urls]))
        assert unanswered(settings) == urls[1:]
