from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any, cast

import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from openlineage.client.transport import get_default_factory

from commands.services import deliver_environ
from headwater.plugins.delivery.backends import read_backends
from headwater.plugins.delivery.rewrite.datazone import TRIMMED
from infra.proxy_local.datazone import DataZoneServer
from lakehouse.backends import (
    BACKENDS,
    deliveries,
    is_embedded,
    lineage_environ,
    python_transport,
    spark_transport,
    unanswered,
)
from lakehouse.errors import SettingsError
from lakehouse.settings import REPOSITORY, Settings, load_settings
from tests.infra.conftest import isolate


def _direct(**values: Any) -> Settings:
    return load_settings(lineage_delivery="direct", **values)


@pytest.mark.parametrize("name", BACKENDS)
def test_openlineage_accepts_the_transport_of_every_backend(name: str) -> None:
    settings = _direct(lineage_backend=name, datazone_domain_id="dzd_1")
    transport = get_default_factory().create(cast(Any, python_transport(settings)))
    assert transport is not None


@pytest.mark.server
def test_datazone_transport_uses_the_region_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    isolate(monkeypatch, tmp_path)  # only the settings have a region
    server = DataZoneServer()
    monkeypatch.setenv("AWS_ENDPOINT_URL_DATAZONE", server.url)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        settings = _direct(lineage_backend="datazone", datazone_domain_id="dzd_1")
        client = OpenLineageClient(config={"transport": python_transport(settings)})
        run, job = Run("01890a5d-ac96-774b-bcce-b302099a8057"), Job("demo", "load")
        client.emit(
            RunEvent(
                eventTime="2026-11-21T08:00:00Z",
                eventType=RunState.COMPLETE,
                run=run,
                job=job,
                producer="tests:",
            )
        )
        client.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert [event.body["job"]["name"] for event in server.accepted] == ["load"]


def test_composite_transport_continues_after_a_failure() -> None:
    settings = _direct(lineage_backend="embedded,marquez,https://lineage.example")
    transport = python_transport(settings)
    assert transport["type"] == "composite"
    assert transport["continue_on_failure"] is True
    conf = spark_transport(settings, "app")
    assert conf["spark.openlineage.transport.type"] == "composite"
    assert conf["spark.openlineage.transport.transports.t0.type"] == "file"
    assert conf["spark.openlineage.transport.transports.t2.url"] == "https://lineage.example"


def test_http_backend_has_a_short_timeout_and_no_retries() -> None:
    transport = python_transport(_direct(lineage_backend="marquez"))
    assert transport["timeout"] == 2
    assert set(json.loads(json.dumps(transport["retry"])).values()) == {0}


def test_python_and_spark_transports_have_the_api_key() -> None:
    settings = _direct(lineage_backend="datahub", datahub_token="tok")
    assert python_transport(settings)["auth"] == {"type": "api_key", "apiKey": "tok"}
    conf = spark_transport(settings, "app")
    assert conf["spark.openlineage.transport.auth.apiKey"] == "tok"


def test_spark_uses_the_spool_for_datazone_alone() -> None:
    settings = _direct(lineage_backend="datazone", datazone_domain_id="dzd_1")
    assert python_transport(settings)["domainId"] == "dzd_1"
    assert spark_transport(settings, "app")["spark.openlineage.transport.type"] == "file"


def test_datazone_without_a_domain_names_the_setting() -> None:
    with pytest.raises(SettingsError, match="DATAZONE_DOMAIN_ID"):
        lineage_environ(_direct(lineage_backend="datazone"))
    with pytest.raises(SettingsError, match="DATAZONE_DOMAIN_ID"):
        deliveries(load_settings(lineage_backend="datazone"))
    with pytest.raises(SettingsError, match="AWS_ACCOUNT"):
        deliveries(load_settings(lineage_backend="datazone", datazone_domain_id="dzd_1"))


def test_unknown_backend_error_lists_the_backends() -> None:
    with pytest.raises(SettingsError, match="'databub'.*embedded.*openmetadata.*URL"):
        python_transport(load_settings(lineage_backend="databub"))


def test_backend_docs_contain_every_description() -> None:
    page = (REPOSITORY / "docs/how-to/backends.md").read_text()
    for backend in BACKENDS.values():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{backend.name}` |"))
        assert backend.description.split(";")[0] in row
        assert ("none: " in row) is not backend.spark


def test_backend_docs_list_the_facets_removed_for_datazone() -> None:
    page = (REPOSITORY / "docs/how-to/backends.md").read_text()
    steps = [f"{number}. {step}\n" for number, step in enumerate(TRIMMED, start=1)]
    assert "".join(steps) in page.replace("`", "")


def test_unresponsive_backends_are_found() -> None:
    with socket.socket() as listening, socket.socket() as silent:
        for server in (listening, silent):
            server.bind(("127.0.0.1", 0))
        listening.listen()
        urls = [f"http://127.0.0.1:{server.getsockname()[1]}" for server in (listening, silent)]
        settings = _direct(lineage_backend=",".join(["embedded", "console", *urls]))
        assert unanswered(settings) == urls[1:]


def test_collector_delivery_uses_spool_and_lineage_server() -> None:
    settings = load_settings(
        lineage_backend="marquez,console,https://lineage.example:444/a/b",
        marquez_api_key="k3y",
    )
    assert is_embedded(settings)
    transports = cast(dict[str, Any], python_transport(settings)["transports"])
    kinds = [transport["type"] for transport in transports.values()]
    assert kinds == ["headwater_client.spool.SpoolTransport", "console"]
    assert unanswered(settings) == []
    assert "url" not in str(spark_transport(settings, "app"))
    assert deliveries(settings) == [
        {
            "name": "marquez",
            "type": "marquez",
            "url": "http://localhost:5000",
            "endpoint": "api/v1/lineage",
            "api_key_env": "MARQUEZ_API_KEY",
        },
        {
            "name": "https-lineage.example-444-a-b",
            "type": "http",
            "url": "https://lineage.example:444",
            "endpoint": "a/b/api/v1/lineage",
        },
    ]


def test_deliver_file_contains_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ",".join(name for name, backend in BACKENDS.items() if backend.delivery)
    settings = load_settings(
        state_dir=tmp_path,
        lineage_backend=names,
        datazone_domain_id="dzd_1",
        aws_account="123456789012",
        datahub_token="hunter2",
    )
    environ = deliver_environ(settings)
    assert environ["DATAHUB_TOKEN"] == "hunter2"
    file = Path(environ["HEADWATER_DELIVER"])
    assert "hunter2" not in file.read_text()
    monkeypatch.setenv("DATAHUB_TOKEN", "hunter2")
    backends = read_backends(file)
    assert list(backends) == names.split(",")
    for backend in backends.values():
        backend.close()
    assert deliver_environ(load_settings(state_dir=tmp_path)) == {}
    assert deliver_environ(_direct(state_dir=tmp_path, lineage_backend="marquez")) == {}
