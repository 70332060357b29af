"""Deliver events to a recording backend by real forwarders."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource

from headwater.errors import EventError
from headwater.log import EventLog, entry_of
from headwater.plugins.delivery.backend import Delivery
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.plugins.delivery.payloads import payloads
from headwater.plugins.delivery.rewrite import Rewriting
from headwater.projection.live import Batch, Live

Json = dict[str, Any]


class RecordingBackend:
    """A backend that records the payloads it receives."""

    def __init__(self, rewriting: Rewriting) -> None:
        self.rewriting = rewriting
        self.payloads: list[Json] = []

    def send(self, delivery: Delivery) -> None:
        """Record the payloads of an event."""
        self.payloads += payloads(delivery, self.rewriting)

    def close(self) -> None:
        """Do nothing."""


def sent(rewriting: Rewriting, events: Iterable[Json], *, at_once: bool = False) -> list[Json]:
    """Return the payloads of events, delivered after each event or after all of them."""
    live, backend = Live(EventLog("sqlite://")), RecordingBackend(rewriting)
    forwarder = Forwarder("kept", backend, live)
    for event in events:
        try:
            live.ingest(Batch([entry_of(orjson.dumps(event))]))
        except EventError:
            continue
        if not at_once:
            forwarder.drain()
    forwarder.drain()
    assert not forwarder.rejected
    forwarder.stop()
    live.log.close()
    return backend.payloads


@cache
def pipeline() -> tuple[Json, ...]:
    """Return all events of this repository's pipeline (two months), by arrival.

    `benchmarks/record_pipeline.py` records them.
    """
    with lzma.open(Path(__file__).parent / "pipeline.jsonl.xz", "rt") as lines:
        return tuple(json.loads(line) for line in lines)


def events_of(*paths: Path) -> list[Json]:
    """Return the events of JSON Lines files."""
    lines = (line for path in paths for line in path.read_text().splitlines())
    return [json.loads(line) for line in lines if line.strip()]


class Specification:
    """OpenLineage's own schemas."""

    def __init__(self, folder: Path) -> None:
        schemas = [json.loads(file.read_text()) for file in folder.rglob("*.json")]
        self._registry: Registry[Any] = Registry().with_resources(
            (schema["$id"], Resource.from_contents(schema)) for schema in schemas
        )
        self._ids = {schema["$id"] for schema in schemas}
        self._validators: dict[str, Draft202012Validator] = {}

    def errors(self, event: Json) -> list[str]:
        """Return the validation errors of an event and of its facets with a known schema."""
        result = self._of(
            "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent", event
        )
        for holder in (event["run"], event["job"], *event["inputs"], *event["outputs"]):
            for place in ("facets", "inputFacets", "outputFacets"):
                for name, facet in holder.get(place, {}).items():
                    if facet["_schemaURL"].split("#")[0] in self._ids:
                        result += [f"{name}: {e}" for e in self._of(facet["_schemaURL"], facet)]
        return result

    def _of(self, url: str, value: Any) -> list[str]:
        if url not in self._validators:
            self._validators[url] = Draft202012Validator(
                {"$ref": url}, registry=self._registry, format_checker=FormatChecker()
            )
        return [error.message[:300] for error in self._validators[url].iter_errors(value)]
