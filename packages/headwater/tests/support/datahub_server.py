"""A stand-in for DataHub: the errors of its endpoint, and the metadata that it stores."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headwater.plugins.delivery.backends import DataHub
from headwater.plugins.delivery.context import engine_of
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.plugins.delivery.models import DataHubSettings
from headwater.plugins.delivery.rewrite._datahub import platform_name
from headwater.posting import Backoff
from headwater.projection.live import Batch, Live

from .sinks import Answer, Said, Sink, serving

Json = dict[str, Any]


def endpoint_error(body: Json) -> str | None:
    """Return the error of DataHub's endpoint for an event, as in the recorded responses.

    It accepts OTHER, but then creates invalid metadata from it.
    """
    for part, word in (("job", "getJob()"), ("run", "getRun()")):
        if part not in body:
            return word
    if body.get("eventType") in (None, "OTHER"):
        return "getEventType()"
    facets = body["run"].get("facets") or {}
    engine = facets.get("processing_engine", {}).get("name")
    if not (engine or engine_of({}, {}, body["producer"])):
        return "Unable to determine orchestrator"
    parent = facets.get("parent")
    if parent and not engine_of({}, {}, parent["_producer"]):
        return "Unable to determine orchestrator"
    for dataset in (*(body.get("inputs") or ()), *(body.get("outputs") or ())):
        fields = dataset.get("facets", {}).get("schema", {}).get("fields", [])
        if any(not field.get("name") for field in fields):
            return "Cannot set field fieldPath"
    return "is null" if ": null" in json.dumps(facets) else None


def converter_urn(dataset: Json) -> str:
    """Return the URN of a dataset by DataHub's converter: the last TABLE symlink determines it."""
    namespace, name = dataset["namespace"], dataset["name"]
    for link in dataset.get("facets", {}).get("symlinks", {}).get("identifiers", ()):
        if link["type"] == "TABLE":
            is_glue = link["namespace"].startswith(("aws:glue:", "arn:aws:glue:"))
            namespace, name = "glue" if is_glue else "hive", link["name"]
            if name.startswith("table/"):
                name = name.removeprefix("table/").replace("/", ".")
    platform, name = platform_name(namespace, name)
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


class Store:
    """The part of DataHub that tests need: a map of aspects; a new aspect replaces the old one.

    The endpoint writes the inputs and outputs of a job with every event, empty ones as well.
    """

    def __init__(self) -> None:
        self.aspects: dict[tuple[str, str], Json] = {}

    def answer(self, body: Json, _nth: int) -> Answer:
        """Accept an event, or the proposals of the emitter."""
        if "proposals" in body:
            for mcp in body["proposals"]:
                value = json.loads(mcp["aspect"]["value"])
                self.aspects[mcp["entityUrn"], mcp["aspectName"]] = value
            return Said(200, {"value": "ok"})
        from headwater.plugins.delivery.rewrite._datahub_proposals import flow_urn, job_urn

        if (reason := endpoint_error(body)) is not None:
            return Said(500, {"message": reason})
        engine = body["run"]["facets"]["processing_engine"]["name"].lower()
        self.aspects[job_urn(engine, body["job"]), "dataJobInputOutput"] = {
            f"{side[:-1]}DatasetEdges": [{"destinationUrn": converter_urn(d)} for d in body[side]]
            for side in ("inputs", "outputs")
        }
        text = body["job"]["facets"].get("documentation", {}).get("description")
        self.aspects[flow_urn(engine, body["job"]), "dataFlowInfo"] = {"description": text}
        return 201

    def of(self, aspect: str) -> dict[str, Json]:
        """Return the values of an aspect by entity."""
        return {urn: value for (urn, name), value in self.aspects.items() if name == aspect}

    def edges(self) -> dict[str, tuple[set[str], set[str]]]:
        """Return the inputs and outputs of each job."""
        result: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
        for urn, value in self.of("dataJobInputOutput").items():
            job = urn.rpartition(",")[2].rstrip(")")
            if not urn.startswith("urn:li:dataJob:(urn:li:dataFlow:(spark"):
                for at, side in enumerate(("inputDatasetEdges", "outputDatasetEdges")):
                    result[job][at].update(_short(e["destinationUrn"]) for e in value[side])
        return {job: sides for job, sides in result.items() if sides != (set(), set())}


def _short(urn: str) -> str:
    platform, name = urn.removeprefix("urn:li:dataset:(urn:li:dataPlatform:").split(",")[:2]
    if platform == "file":
        return name.split("/")[-2]
    return name.removeprefix("nyc_taxi.")


@contextmanager
def delivering(
    live: Live, answer: Any, *, emitter: bool = True, timeout: float = 30
) -> Iterator[Forwarder]:
    with serving(Sink(answer)) as sink:
        settings = DataHubSettings(name="x", url=sink.url, emitter=emitter, timeout=timeout)
        backend = DataHub(settings)
        forwarder = Forwarder("datahub", backend, live, Backoff(first=0.001, most=0.01))
        yield forwarder
        forwarder.stop()


def fill(live: Live, build: Any, events: Any) -> None:
    live.ingest(Batch([build.entry(event) for event in events]))
