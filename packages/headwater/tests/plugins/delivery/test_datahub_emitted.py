"""Metadata change proposals for DataHub, validated by acryl-datahub."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import EventError
from headwater.log import EventLog
from headwater.plugins.delivery._loss import losses
from headwater.plugins.delivery.backend import Delivery
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.plugins.delivery.payloads import payloads_with_context
from headwater.plugins.delivery.rewrite import DATAHUB
from headwater.plugins.delivery.rewrite._datahub_proposals import proposals
from headwater.projection.live import Live
from headwater.server.sample import sample_events
from packages.headwater.tests.support.datahub_server import Json, Store, delivering, fill
from packages.headwater.tests.support.recording_backend import events_of, pipeline
from packages.headwater.tests.support.sinks import Answer

pytestmark = pytest.mark.replay


def _job_event(name: str, **parts: Any) -> Json:
    job = {"namespace": "demo", "name": name, "facets": parts.pop("facets", {})}
    return {
        "eventTime": "2025-11-21T08:00:00Z",
        "producer": "https://github.com/dbt-labs/dbt-core",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent",
        "job": job,
        **parts,
    }


def _dataset_event(dataset: Json) -> Json:
    event = _job_event("") | {"dataset": dataset}
    del event["job"]
    return event | {"schemaURL": event["schemaURL"].replace("JobEvent", "DatasetEvent")}


_FACETS = {
    "documentation": {"description": "What it is for."},
    "ownership": {"owners": [{"name": "team:data"}]},
    "tags": {
        "tags": [{"key": "tier", "value": "gold", "source": "x"}, {"key": "core", "value": "none"}]
    },
    "jobType": {"processingType": "BATCH", "integration": "DBT", "jobType": "MODEL"},
}


def test_declared_job_is_emitted(live: Live, build: Any) -> None:
    store = Store()
    read, written = build.dataset("x|in"), build.dataset("x|out")
    field = {"namespace": "x", "name": "in", "field": "a"}
    written["facets"] = {"columnLineage": {"fields": {"b": {"inputFields": [field]}}}}
    event = _job_event("f.j", facets=_FACETS, inputs=[read], outputs=[written])
    with delivering(live, store.answer) as forwarder:
        fill(live, build, [event])
        assert forwarder.drain() == 1
    assert store.edges() == {"f.j": ({"in"}, {"out"})}
    own = "urn:li:dataJob:(urn:li:dataFlow:(dbt,f,demo),f.j)"
    result = {name: value for (urn, name), value in store.aspects.items() if urn == own}
    assert result["dataJobInfo"]["description"] == "What it is for."
    assert result["ownership"]["owners"][0]["owner"] == "urn:li:corpGroup:data"
    labels = [item["tag"] for item in result["globalTags"]["tags"]]
    assert labels == ["urn:li:tag:core", "urn:li:tag:tier:gold"]


def test_declared_flow_has_its_owners_and_tags(live: Live, build: Any) -> None:
    store = Store()
    with delivering(live, store.answer) as forwarder:
        fill(live, build, [_job_event("f", facets=_FACETS, inputs=[], outputs=[])])
        assert forwarder.drain() == 1
    flow = "urn:li:dataFlow:(dbt,f,demo)"
    assert store.aspects[flow, "ownership"]["owners"][0]["owner"] == "urn:li:corpGroup:data"
    labels = [item["tag"] for item in store.aspects[flow, "globalTags"]["tags"]]
    assert labels == ["urn:li:tag:core", "urn:li:tag:tier:gold"]


def test_declaration_does_not_overwrite_a_job_with_runs(live: Live, build: Any) -> None:
    store = Store()
    ran = build.run(
        "COMPLETE", "a", "f.j", "08:00:00", reads=("x|in",), writes=("x|out",), kind="DBT/MODEL"
    )
    event = _job_event("f.j", facets=_FACETS, inputs=[build.dataset("x|other")])
    with delivering(live, store.answer) as forwarder:
        fill(live, build, [ran])
        forwarder.drain()
        before = dict(store.aspects)
        fill(live, build, [event])
        assert forwarder.drain() == 1
    assert store.edges() == {"f.j": ({"in"}, {"out"})}
    new = {
        name for key, value in store.aspects.items() if before.get(key) != value for name in key[1:]
    }
    assert new == {"ownership", "globalTags"}


def test_dataset_without_run_is_emitted(live: Live, build: Any) -> None:
    store = Store()
    fields = [{"name": "b", "type": "string"}, {"name": "c", "type": "decimal(10,2)"}]
    left, right = (
        {"namespace": "x", "name": name, "field": "a"} for name in ("declared", "by a job")
    )
    lineage = {"columnLineage": {"fields": {"b": {"inputFields": [left]}}}}
    dataset = build.dataset("x|t", **_FACETS, **lineage, schema={"fields": fields})
    run = build.run("COMPLETE", "a", "f.j", "07:00:00", reads=("x|by a job",), writes=("x|t",))
    run["outputs"][0]["facets"] = {"columnLineage": {"fields": {"b": {"inputFields": [right]}}}}
    with delivering(live, store.answer) as forwarder:
        fill(live, build, [run, _dataset_event(dataset)])
        assert forwarder.drain() == 2
    urn = "urn:li:dataset:(urn:li:dataPlatform:x,t,PROD)"
    result = {name: value for (of, name), value in store.aspects.items() if of == urn}
    assert [field["fieldPath"] for field in result["schemaMetadata"]["fields"]] == ["b", "c"]
    assert result["datasetProperties"]["description"] == "What it is for."
    assert result["ownership"]["owners"][0]["owner"] == "urn:li:corpGroup:data"
    upstreams = {
        upstream["dataset"].split(",")[1] for upstream in result["upstreamLineage"]["upstreams"]
    }
    assert upstreams == {"declared", "by%20a%20job"}


def test_view_has_the_upstream_datasets_of_its_lineage_facet(live: Live, build: Any) -> None:
    store = Store()
    table = {"type": "DATASET", "namespace": "x", "name": "t"}
    by_column = {"type": "DATASET", "namespace": "x", "name": "u", "field": "a"}
    view = build.dataset(
        "x|v", lineage={"inputs": [table], "fields": {"b": {"inputs": [by_column]}}}
    )
    linked = build.dataset("x|t", symlinks=[("http://c", "db.t", "TABLE")])
    with delivering(live, store.answer) as forwarder:
        fill(live, build, [_dataset_event(linked), _dataset_event(view)])
        assert forwarder.drain() == 2
    urn = "urn:li:dataset:(urn:li:dataPlatform:x,v,PROD)"
    lineage = store.aspects[urn, "upstreamLineage"]
    assert {item["dataset"].split(",")[1] for item in lineage["upstreams"]} == {"db.t", "u"}
    (column,) = lineage["fineGrainedLineages"]
    assert [urn.rsplit(",", 1)[1] for urn in column["upstreams"]] == ["a)"]


def test_many_proposals_are_sent_in_several_requests(live: Live, build: Any) -> None:
    store, sizes = Store(), list[int]()

    def answer(body: Json, nth: int) -> Answer:
        sizes.append(len(body["proposals"]))
        return store.answer(body, nth)

    tags = [{"key": "pii", "value": "true", "source": "x", "field": f"c{n}"} for n in range(450)]
    with delivering(live, answer) as forwarder:
        fill(live, build, [_dataset_event(build.dataset("x|t", tags={"tags": tags}))])
        assert forwarder.drain() == 1
    assert sizes == [200, 200, 50]
    assert len(store.of("globalTags")) == 450


def test_events_without_run_need_the_emitter(live: Live, build: Any) -> None:
    store = Store()
    with delivering(live, store.answer, emitter=False) as forwarder:
        fill(live, build, [_job_event("f.j"), _dataset_event(build.dataset("x|t"))])
        assert forwarder.drain() == 2
    assert store.aspects == {}


def _proposals(events: Any, build: Any) -> list[Any]:
    class Emitted:
        def __init__(self) -> None:
            self.found: list[Any] = []

        def send(self, delivery: Delivery) -> None:
            for body, known in payloads_with_context(delivery, DATAHUB, {}):
                self.found += proposals(body, known)

        def close(self) -> None:
            """Do nothing."""

    live, emitted = Live(EventLog("sqlite://")), Emitted()
    fill(live, build, events)
    forwarder = Forwarder("x", emitted, live)
    forwarder.drain()
    assert not forwarder.rejected
    forwarder.stop()
    live.log.close()
    return emitted.found


def test_emitted_aspects_are_valid(build: Any, tmp_path: Path) -> None:
    odd = build.run(
        "COMPLETE", "r", "a job, (odd).b c", "08:00:00", reads=("s3://lake|raw/a, b(c)",),
        writes=("x|m,n",),
    )  # fmt: skip
    odd["job"]["facets"] = {"ownership": {"owners": [{"name": "team:data, (x)"}]}}
    odd["outputs"][0]["facets"] = {
        "datasetType": {"datasetType": "MODEL"},
        "tags": {"tags": [{"key": "pii", "value": "true", "source": "x", "field": "a,b"}]},
        "columnLineage": {
            "fields": {"a,b": {"inputFields": [{**odd["inputs"][0], "field": "c (d)"}]}}
        },
    }
    named = build.dataset("a b|c (d), e", **_FACETS, schema={"fields": [{"name": "f, g"}]})
    of_no_run = [_job_event("x, (y).z", facets=_FACETS, outputs=[named]), _dataset_event(named)]
    proposals = _proposals([*pipeline(), odd, *of_no_run], build)
    urns = _validated(proposals, tmp_path)
    assert any(urn.startswith("urn:li:mlModel:") for urn in urns)


def test_aspects_of_other_producers_are_valid(build: Any, shared: Path, tmp_path: Path) -> None:
    nights = list(sample_events())
    files = sorted((shared / "openlineage-events").rglob("*.jsonl"))
    others = [event for event in events_of(*files) if _is_taken(event, build)]
    assert len(others) > 400
    assert _validated(_proposals(nights[-len(nights) // 14 :], build), tmp_path)
    assert _validated(_proposals(others, build), tmp_path)


def _is_taken(event: Json, build: Any) -> bool:
    try:
        build.entry(event)
    except EventError:
        return False
    return True


def test_losses_count_what_the_proposals_contain(build: Any) -> None:
    result: dict[str, set[Any]] = defaultdict(set)
    for proposal in _proposals(pipeline(), build):
        urn, name, aspect = proposal.entityUrn, proposal.aspectName, proposal.aspect
        entity = urn.split(":")[2]
        if name in ("ownership", "globalTags", "operation", "datasetProperties"):
            result[f"{entity} {name}"].add(urn)
        elif name == "dataProcessInstanceRelationships":
            result["hierarchy"] |= {urn} if aspect.parentInstance else set()
        elif name == "dataJobInputOutput":
            result["control edges"] |= {(e.destinationUrn, urn) for e in aspect.inputDatajobEdges}
        elif name == "mlModelProperties":
            result["models"].add(urn)
            dataset = urn.replace(":mlModel:", ":dataset:")
            result["dataset operation"] |= {dataset} if aspect.version else set()
    arrived = {loss.kind: loss.arrived["datahub"] for loss in losses(map(build.entry, pipeline()))}
    kinds = {
        "dataJob ownership": "job ownership",
        "dataJob globalTags": "job tags",
        "dataset operation": "dataset version",
        "dataset datasetProperties": "dataset documentation",
        "hierarchy": "hierarchy",
        "control edges": "control edges",
        "models": "models",
    }
    counts = {kind: arrived.get(kind, 0) for kind in kinds.values()}
    assert counts == {kind: len(result[proposed]) for proposed, kind in kinds.items()}
    assert min(counts[kind] for kind in ("hierarchy", "models", "job tags", "dataset version")) > 0


def _validated(proposals: list[Any], folder: Path) -> set[str]:
    """Return the URNs in proposals; check each with acryl-datahub."""
    from datahub.cli.json_file import check_mce_file
    from datahub.metadata.urns import Urn

    file = folder / "mcps.json"
    file.write_text(json.dumps([mcp.to_obj() for mcp in proposals]))
    assert check_mce_file(str(file)) == f"{len(proposals)} MCEs found - all valid"
    urns = {mcp.entityUrn for mcp in proposals} | {
        word
        for mcp in proposals
        for word in _texts(mcp.aspect.to_obj())
        if word.startswith("urn:li:")
    }
    for urn in urns:
        Urn.from_string(urn)  # the validation of the file does not check URNs
    return urns


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    for item in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _texts(item)
