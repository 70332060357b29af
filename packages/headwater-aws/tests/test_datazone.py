"""The backend `datazone`, with a server that validates requests against botocore's model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.errors import ConfigError, DeliveryError, UnavailableError
from headwater.plugins.delivery.backend import Delivery
from headwater.plugins.delivery.backends import read_backends
from headwater.plugins.delivery.rewrite.datazone import MOST_BYTES, client_token
from headwater_aws import _clients
from headwater_aws.audit import audit
from headwater_aws.datazone import DataZone, DataZoneSettings
from headwater_aws.worker import delivery_of
from infra.proxy_local.datazone import CUT, ERRORS, DataZoneServer

Make = Callable[..., tuple[DataZone, DataZoneServer]]
Event = Callable[..., dict[str, Any]]

DOMAIN = "dzd_stand-in"
ACCOUNT = "111122223333"
RUN = "0190a5f0-0000-7000-8000-000000000001"


def _delivery(body: dict[str, Any]) -> Delivery:
    return delivery_of(orjson.dumps(body).decode())


def test_client_token_prevents_duplicate_events(make_datazone: Make, event: Event) -> None:
    backend, server = make_datazone()
    body = event(RUN)
    backend.send(_delivery(body))
    backend.send(_delivery(body))
    (taken,) = server.accepted
    assert taken.token == client_token(taken.body)
    assert taken.body["run"]["runId"] == RUN


def test_datasets_are_sent_under_asset_names(make_datazone: Make, event: Event) -> None:
    backend, server = make_datazone()
    rides = {"namespace": "redshift://lake.eu-central-1:5439", "name": "dev.public.rides"}
    backend.send(_delivery(event(RUN, outputs=[rides])))
    (written,) = server.accepted[0].body["outputs"]
    assert (written["namespace"], written["name"]) == (
        f"arn:aws:redshift:eu-central-1:{ACCOUNT}",
        "table/lake/dev/public/rides",
    )


@pytest.mark.parametrize("metastore", ["hive://lake:9083", "trino://lake:8080"])
def test_rule_converts_a_symlink_to_an_arn(
    make_datazone: Make, event: Event, tmp_path: Path, metastore: str
) -> None:
    _, server = make_datazone()
    rules = tmp_path / "names.yaml"
    rules.write_text(
        rf"rules: [{{namespace: '{metastore}', name: 'nyc\.(?P<table>\w+)',"
        " to_namespace: 'arn:aws:glue:us-east-1:{account}', to_name: 'table/nyc/{table}'}]"
    )
    links = [
        {"namespace": namespace, "name": "nyc.rides", "type": "TABLE"}
        for namespace in ("hive://lake:9083", "trino://lake:8080")
    ]
    location = {"namespace": "s3://lake", "name": "warehouse/rides"}
    rides = {**location, "facets": {"symlinks": {"identifiers": links}}}
    backend = DataZone(
        DataZoneSettings(name="x", domain_id=DOMAIN, account=ACCOUNT, names=str(rules))
    )
    backend.send(_delivery(event(RUN, outputs=[rides])))
    (written,) = server.accepted[0].body["outputs"]
    assert (written["namespace"], written["name"]) == (
        f"arn:aws:glue:us-east-1:{ACCOUNT}",
        "table/nyc/rides",
    )
    backend.close()


def test_large_events_are_trimmed(make_datazone: Make, event: Event) -> None:
    backend, server = make_datazone()
    facets = {"sourceCode": {"sourceCode": "x" * MOST_BYTES}}
    job = {"namespace": "demo", "name": "j", "facets": facets}
    backend.send(_delivery(event(RUN, job=job)))
    assert "sourceCode" not in server.accepted[0].body["job"]["facets"]


@pytest.mark.parametrize("status", [400, 409])
def test_rejection_is_permanent_with_a_reason(
    make_datazone: Make, event: Event, status: int
) -> None:
    backend, _ = make_datazone(lambda _: status)
    with pytest.raises(DeliveryError, match=rf"answered {status} \w+: the stand-in") as caught:
        backend.send(_delivery(event(RUN)))
    assert not isinstance(caught.value, UnavailableError)


@pytest.mark.parametrize(
    ("status", "is_doubtful"),
    [(401, False), (429, False), (503, False), (500, True), (402, True), (403, True), (404, True)],
)
def test_temporary_errors_are_distinguished(
    make_datazone: Make, event: Event, status: int, is_doubtful: bool
) -> None:
    backend, _ = make_datazone(lambda _: status)
    with pytest.raises(UnavailableError, match=f"answered {status}") as caught:
        backend.send(_delivery(event(RUN)))
    assert caught.value.is_doubtful is is_doubtful


def test_incomplete_response_is_retried_without_duplicates(
    make_datazone: Make,
    event: Event,
) -> None:
    backend, server = make_datazone(lambda _: CUT)
    with pytest.raises(UnavailableError, match="DataZone: "):
        backend.send(_delivery(event(RUN)))
    backend.send(_delivery(event(RUN)))
    assert len(server.accepted) == 1


def test_slow_server_times_out(
    make_datazone: Make, event: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_clients, "READ_SECONDS", 0.2)
    is_over = threading.Event()
    backend, _ = make_datazone(lambda _: 200 if is_over.wait(30) else 500)
    with pytest.raises(UnavailableError, match="Read timeout"):
        backend.send(_delivery(event(RUN)))
    is_over.set()


def test_missing_server_is_unavailable(event: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DATAZONE", "http://127.0.0.1:9")
    backend = DataZone(DataZoneSettings(name="x", domain_id=DOMAIN, account=ACCOUNT))
    with pytest.raises(UnavailableError, match="Could not connect"):
        backend.send(_delivery(event(RUN)))


def test_expired_credentials_are_retried(
    make_datazone: Make, event: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, _ = make_datazone(lambda _: 403)
    monkeypatch.setitem(ERRORS, 403, "ExpiredTokenException")
    with pytest.raises(UnavailableError, match="403 ExpiredTokenException"):
        backend.send(_delivery(event(RUN)))


def test_stand_in_validates_requests_by_the_model(make_datazone: Make, event: Event) -> None:
    _, server = make_datazone()
    token, body = "t", orjson.dumps(event(RUN))
    assert server.problem(DOMAIN, token, body) == ""
    assert server.problem("other", token, body).startswith(
        "domainIdentifier: 'other' does not match"
    )
    assert server.problem(DOMAIN, "a b", body).startswith("clientToken")
    assert server.problem(DOMAIN, "t" * 129, body).startswith("clientToken")
    assert server.problem(DOMAIN, token, b" " * (MOST_BYTES + 1)).startswith("event: 300001 bytes")
    assert server.problem(DOMAIN, token, b"{}") == "event: not a RunEvent"


def _fails(body: dict[str, Any]) -> str:
    return "FAILED" if body["eventType"] == "FAIL" else "SUCCESS"


def test_unprocessed_events_of_all_pages_are_listed(make_datazone: Make, event: Event) -> None:
    backend, server = make_datazone(processed=_fails)
    server.page_size = 2
    for number in range(6):
        backend.send(_delivery(event(RUN, number, eventType="COMPLETE" if number == 3 else "FAIL")))
    server.accepted[0] = replace(server.accepted[0], at=server.accepted[0].at - timedelta(hours=25))
    assert list(backend.failed()) == [server.accepted[n].id for n in (1, 2, 4, 5)]


def test_audit_counts_unprocessed_events_including_zero(
    make_datazone: Make, event: Event, written: Callable[[], tuple[Any, Any]]
) -> None:
    backend, server = make_datazone(processed=_fails)
    assert audit(backend) == 0
    assert written() == ([("audit", "ProcessingFailed", 0)], [])
    for type_ in ("COMPLETE", "FAIL"):
        backend.send(_delivery(event(RUN, eventType=type_)))
    assert audit(backend) == 1
    metrics, (line,) = written()
    assert metrics == [("audit", "ProcessingFailed", 1)]
    assert (line["level"], line["ids"]) == ("ERROR", [server.accepted[1].id])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("domain_id: dzd_a", "account: received nothing"),
        ("{domain_id: d-1, account: '111122223333'}", "domain_id: received 'd-1', expected dzd_"),
        ("{domain_id: dzd_a, account: '12'}", "account: received '12', expected 12 digits"),
        ("{domain_id: dzd_a, account: '111122223333', names: /no}", "/no: cannot read the file"),
        ("{domain_id: dzd_a, account: '111122223333', profile: me}", "profile .me. could not be"),
    ],
)
def test_datazone_config_reports_missing_values(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "deliver.yaml"
    entry = text.strip("{}")
    path.write_text(f"backends: [{{name: dz, type: datazone, {entry}}}]")
    with pytest.raises(ConfigError, match=message):
        read_backends(path)
