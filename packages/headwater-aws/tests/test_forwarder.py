"""The backend with headwater's forwarder, which sends complete runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from queue import Queue
from typing import Any

import orjson
import pytest

from headwater.log import EventLog, entry_of
from headwater.plugins.delivery import forwarder
from headwater.plugins.delivery._store import delivery_statuses
from headwater.plugins.delivery.backends import read_backends
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.posting import Backoff
from headwater.projection.live import Batch, Live
from headwater_aws.datazone import DataZone
from infra.proxy_local.datazone import DataZoneServer

pytestmark = pytest.mark.server

Make = Callable[..., tuple[DataZone, DataZoneServer]]
Event = Callable[..., dict[str, Any]]

RUN = "0190a5f0-0000-7000-8000-000000000001"
REFUSED = "0190a5f0-0000-7000-8000-000000000002"
RIDES = {"namespace": "redshift://lake.eu-central-1:5439", "name": "dev.public.rides"}


def test_datazone_receives_complete_runs_and_rejections_are_dead_letters(
    make_datazone: Make, event: Event, tmp_path: Path
) -> None:
    _, server = make_datazone(lambda body: 400 if body["run"]["runId"] == REFUSED else 200)
    deliver = tmp_path / "deliver.yaml"
    deliver.write_text(
        "backends: [{name: catalog, type: datazone, domain_id: dzd_a, account: '111122223333'}]"
    )
    log = EventLog(f"sqlite:///{tmp_path / 'log.db'}")
    live = Live(log)
    bodies = [
        event(RUN, 1, eventType="START", inputs=[RIDES]),
        event(REFUSED, 2),
        event(RUN, 3, eventType="COMPLETE"),  # which has no inputs
    ]
    live.ingest(Batch([entry_of(orjson.dumps(body)) for body in bodies]))
    forwarding = Forwarder("catalog", read_backends(deliver)["catalog"], live)
    assert forwarding.drain() == 2
    forwarding.stop()
    (standing,) = delivery_statuses(log)
    assert (standing["lag"], standing["deadLetters"]) == (0, 1)
    assert standing["newestDeadLetters"][0]["reason"].startswith("DataZone answered 400 Validation")
    end = server.accepted[-1].body
    assert end["eventType"] == "COMPLETE"
    assert [dataset["name"] for dataset in end["inputs"]] == ["table/lake/dev/public/rides"]
    log.close()


def test_unprocessed_events_are_logged(
    make_datazone: Make, event: Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: Queue[str] = Queue()
    monkeypatch.setattr(forwarder.log, "warning", lambda text, *given: warnings.put(text % given))
    backend, server = make_datazone(processed=lambda _: "FAILED")
    live = Live(EventLog(f"sqlite:///{tmp_path / 'log.db'}"))
    live.ingest(Batch([entry_of(orjson.dumps(event(RUN)))]))
    forwarding = Forwarder("catalog", backend, live, Backoff(processed=0))
    forwarding.start()
    message = warnings.get(timeout=60)
    forwarding.stop()
    assert message == f"catalog could not process 1 accepted event: {server.accepted[0].id}"
    live.log.close()
