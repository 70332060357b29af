"""Delivery to DataHub: recorded responses, and a stand-in server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headwater.errors import UnavailableError
from headwater.log import EventLog
from headwater.plugins.delivery.context import Contexts, RunContext, engine_of
from headwater.plugins.delivery.rewrite import DATAHUB
from headwater.plugins.delivery.rewrite._datahub import rewrite
from headwater.plugins.delivery.rewrite._datahub_proposals import dataset_urn, flow_urn, job_urn
from headwater.projection.live import Live
from packages.headwater.tests.support.datahub_server import (
    Json,
    Store,
    converter_urn,
    delivering,
    endpoint_error,
    fill,
)
from packages.headwater.tests.support.recording_backend import pipeline, sent
from packages.headwater.tests.support.sinks import Answer

pytestmark = pytest.mark.replay

_TAXI, _WEATHER, _FLOW = "ingest_yellow_taxi_data", "ingest_weather_data", "TrainForecastModelFlow"
# The expected data edges; files are identified by their folder.
_DESIGN = {
    f"{_TAXI}.download": ({"trip-data"}, {"yellow"}),
    f"{_TAXI}.stage": ({"yellow"}, {"yellow_taxi_staging", "yellow_taxi_quarantine"}),
    f"{_TAXI}.check_staging": ({"yellow_taxi_staging"}, set()),
    f"{_TAXI}.merge_upsert_staging_into_raw_yellow": ({"yellow_taxi_staging"}, {"yellow_taxi_raw"}),
    f"{_WEATHER}.download": ({"2025"}, {"weather"}),
    f"{_WEATHER}.stage": ({"weather"}, {"weather_staging"}),
    f"{_WEATHER}.check_staging": ({"weather_staging"}, set()),
    f"{_WEATHER}.merge_upsert_staging_into_raw_weather": ({"weather_staging"}, {"weather_raw"}),
    f"{_FLOW}.compute_actuals": ({"yellow_taxi_raw"}, {"yellow_rides_hourly_actuals"}),
    f"{_FLOW}.prepare_training_data": ({"yellow_rides_hourly_actuals"}, {f"{_FLOW}/training_data"}),
    f"{_FLOW}.train": ({f"{_FLOW}/training_data"}, {f"{_FLOW}/model", f"{_FLOW}/metrics"}),
    f"{_FLOW}.write_forecasts_to_table": ({f"{_FLOW}/model"}, {"yellow_rides_hourly_forecast"}),
}


def _recorded(recorded: Path) -> Iterator[tuple[str, Json, Any]]:
    for file in sorted((recorded / "datahub-answers").glob("*.event.json")):
        answer = file.with_name(file.name.replace(".event.", ".answer."))
        yield file.name.split(".")[0], json.loads(file.read_text()), json.loads(answer.read_text())


def _edges_of(answer: Any) -> tuple[set[str], set[str]]:
    (aspect,) = (mcp["aspect"] for mcp in answer if mcp["aspectName"] == "dataJobInputOutput")
    sides = aspect["inputDatasetEdges"], aspect["outputDatasetEdges"]
    reads, writes = ({edge["destinationUrn"] for edge in side} for side in sides)
    return reads, writes


def test_stand_in_names_jobs_and_datasets_as_recorded(recorded: Path) -> None:
    checked = 0
    for name, event, answer in _recorded(recorded):
        if isinstance(answer, dict) or name.startswith("50-"):  # 50: two clusters are one dataset
            continue
        engine = engine_of(event["run"].get("facets", {}), {}, event["producer"])
        assert flow_urn(str(engine), event["job"]) == answer[0]["entityUrn"], name
        assert job_urn(str(engine), event["job"]) in {mcp["entityUrn"] for mcp in answer}, name
        for side, edges in zip(("inputs", "outputs"), _edges_of(answer), strict=True):
            kept = [
                item
                for item in event.get(side, ())
                if " " not in item["name"]
                or "://" not in item["namespace"]
                or "symlinks" in item.get("facets", {})
            ]
            assert {converter_urn(item) for item in kept} == edges, name
        checked += 1
    assert checked > 40


_GLUE = "arn:aws:glue:eu-west-1:123456789012"
_INTENDED = {
    ("hive", "/staging/weather"): ("hive", "staging/weather"),
    (_GLUE, "table/taxi/trips"): ("glue", "taxi.trips"),
    ("file", "/data/my trips.csv"): ("file", "/data/my%20trips.csv"),
    ("s3", "lake/raw/my trips"): ("s3", "lake/raw/my%20trips"),
    ("postgres", "taxi.public.my trips"): ("postgres", "taxi.public.my%20trips"),
    ("postgresql", "db.s.u"): ("postgres", "db.s.u"),
    ("hive", "default_catalog.default_database.kafka_input"): ("kafka", "input_topic"),
    ("hive", "default_catalog.default_database.kafka_output"): ("kafka", "output_topic"),
    ("abs", "c@acc.blob.core.windows.net/y"): ("abs", "c@acc.dfs.core.windows.net/y"),
    ("file", "/data/a,b.csv"): ("file", "/data/a%2Cb.csv"),
    ("s3", "lake/raw/a,b(c)"): ("s3", "lake/raw/a%2Cb%28c%29"),
}
"""Platform and name by DataHub's converter, and ours where it is another on purpose."""


def test_delivered_datasets_have_the_recorded_urns(recorded: Path) -> None:
    intended = {_urn(*theirs): _urn(*ours) for theirs, ours in _INTENDED.items()}
    dropped = {_urn("s3", "lake/raw/my trips"), _urn("postgres", "taxi.public.my trips")}
    only_in_columns = {  # inputs for us
        "13": {_urn("mysql", "datahub.metadata_aspect_v2")},
        "14": {_urn("s3", f"my-bucket-test/output/field{n}.parquet") for n in (1, 2)},
        "16": {_urn("dbfs", "/demo-warehouse/documentstage")},
    }
    result: set[str] = set()
    for name, event, answer in _recorded(recorded):
        if isinstance(answer, dict):
            continue
        edges = set[str]().union(*_edges_of(answer))
        edges |= dropped if name.startswith("48-") else set()
        edges |= only_in_columns.get(name[:2], set())
        if name.startswith("10-"):  # the metastore of one Dataproc cluster
            edges = {_urn("hdfs", "/user/hive/warehouse/t1")}
        urns = {
            converter_urn(dataset)
            for body in sent(DATAHUB, [event])
            for dataset in (*body["inputs"], *body["outputs"])
        }
        assert urns == {intended.get(urn, urn) for urn in edges}, name
        result |= edges
    assert intended.keys() <= result


def test_intended_differences_from_datahubs_converter_are_in_docs() -> None:
    page = (Path(__file__).parents[5] / "docs/how-to/backends.md").read_text()
    for (platform, name), (own_platform, own_name) in _INTENDED.items():
        assert f"| `{platform}` `{name}` | `{own_platform}` `{own_name}` |" in page


def _urn(platform: str, name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def test_payloads_avoid_errors_of_the_endpoint(recorded: Path) -> None:
    for name, event, answer in _recorded(recorded):
        if not event.get("run", {}).get("runId") or "job" not in event:
            continue  # events without a run are never posted: see below
        (body,) = rewrite(event, RunContext())
        assert endpoint_error(body) is None, (name, answer)
        for dataset in (*body["inputs"], *body["outputs"]):
            assert not set(dataset["name"]) & set(" ,()"), name


def test_stand_in_fails_like_the_recorded_endpoint(recorded: Path) -> None:
    index = json.loads((recorded / "datahub-answers" / "index.json").read_text())
    invalid = {item["name"] for item in index if item.get("acrylInvalid")}
    failed = 0
    for name, event, answer in _recorded(recorded):
        result = endpoint_error(event)
        assert (result is not None) == (isinstance(answer, dict) or name in invalid), (name, result)
        if isinstance(answer, dict):
            assert str(result) in answer["error"], name
            failed += 1
    assert failed == 7


@pytest.fixture(scope="module")
def delivered(build: Any) -> Store:
    """Return DataHub after the delivery of the whole pipeline, with the emitter."""
    store, live = Store(), Live(EventLog("sqlite://"))
    with delivering(live, store.answer) as forwarder:
        fill(live, build, pipeline())
        forwarder.drain()
        assert not forwarder.rejected
    live.log.close()
    return store


def test_pipeline_has_exactly_the_designed_edges(
    delivered: Store,
) -> None:
    assert delivered.edges() == _DESIGN


@pytest.mark.parametrize("seed", ["in order", "backwards", 1, 2, 3])
def test_order_does_not_change_the_edges(live: Live, build: Any, seed: int | str) -> None:
    store, events = Store(), list(map(_without_columns, pipeline()))
    if seed == "backwards":
        events.reverse()
    elif seed != "in order":
        Random(seed).shuffle(events)
    with delivering(live, store.answer, emitter=False) as forwarder:
        for event in events:
            fill(live, build, [event])
            forwarder.drain()
        assert not forwarder.rejected
    assert store.edges() == _DESIGN


def _without_columns(event: Json) -> Json:
    """Return the dataset metadata of an event without columns."""

    def facets(dataset: Json) -> Json:
        left_out = ("columnLineage", "schema")
        return {name: item for name, item in dataset["facets"].items() if name not in left_out}

    sides = ("inputs", "outputs")
    return event | {
        side: [dataset | {"facets": facets(dataset)} for dataset in event[side]] for side in sides
    }


def test_event_without_datasets_keeps_edges(live: Live, build: Any) -> None:
    store = Store()
    first = build.run("COMPLETE", "a", "f.j", "08:00:00", reads=("x|in",), writes=("x|out",))
    with delivering(live, store.answer, emitter=False) as forwarder:
        for event in (
            first,
            build.run("START", "b", "f.j", "09:00:00"),
            build.run("RUNNING", "b", "f.j", "09:01:00", reads=("x|in2",)),
            build.run("FAIL", "b", "f.j", "09:02:00"),
        ):
            fill(live, build, [event])
            forwarder.drain()
        assert store.edges() == {"f.j": ({"in", "in2"}, {"out"})}
        last = build.run("COMPLETE", "c", "f.j", "10:00:00", reads=("x|new",), writes=("x|out",))
        fill(live, build, [last])
        forwarder.drain()
    assert store.edges() == {"f.j": ({"new"}, {"out"})}


def test_late_old_run_does_not_replace_the_newest(build: Any) -> None:
    old, new = (
        build.run("COMPLETE", run, "f.j", time, reads=(f"x|{run}",))
        for run, time in (("old", "08:00:00"), ("new", "09:00:00"))
    )
    for order in ([old, new], [new, old]):
        store, fresh = Store(), Live(EventLog("sqlite://"))
        with delivering(fresh, store.answer, emitter=False) as forwarder:
            for event in order:
                fill(fresh, build, [event])
                forwarder.drain()
        assert store.edges() == {"f.j": ({"new"}, set())}
        fresh.log.close()


def test_late_event_of_an_old_run_brings_back_no_input(live: Live, build: Any) -> None:
    store = Store()
    with delivering(live, store.answer, emitter=False) as forwarder:
        for event in (
            build.run("COMPLETE", "new", "f.j", "09:00:00", writes=("x|out",)),
            build.run("COMPLETE", "old", "f.j", "08:00:00", reads=("x|in",)),
        ):
            fill(live, build, [event])
            forwarder.drain()
    assert store.edges() == {"f.j": (set(), {"out"})}


@pytest.mark.parametrize("at_once", [True, False])
def test_elements_of_a_task_share_their_datasets(live: Live, build: Any, at_once: bool) -> None:
    store, dag = Store(), ("d", "dag")
    with delivering(live, store.answer, emitter=False) as forwarder:
        for n in range(3):
            for kind, read in (("START", ()), ("COMPLETE", (f"x|in{n}",))):
                run = build.run(kind, f"e{n}", "dag.load", f"08:0{n}:00", parent=dag, reads=read)
                fill(live, build, [run])
                if not at_once:
                    forwarder.drain()
        forwarder.drain()
    assert store.edges() == {"dag.load": ({"in0", "in1", "in2"}, set())}


def test_payloads_of_many_elements_grow_linearly(live: Live, build: Any) -> None:
    elements = 110
    store, sizes = Store(), []

    def answer(body: Json, nth: int) -> Answer:
        sizes.append(len(body["inputs"]))
        return store.answer(body, nth)

    with delivering(live, answer, emitter=False) as forwarder:
        for n in range(elements):
            time = f"08:{n // 60:02}:{n % 60:02}"
            reads = ("x|shared", f"x|in{n}")
            run = build.run("COMPLETE", f"e{n}", "dag.load", time, parent=("d", "dag"), reads=reads)
            fill(live, build, [run])
            forwarder.drain()
    assert max(sizes) == 102
    newest = {f"in{n}" for n in range(elements - 101, elements)}
    assert store.edges() == {"dag.load": ({"shared", *newest}, set())}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_columns_come_from_all_writers_of_a_table(order: tuple[int, ...], build: Any) -> None:
    def run(name: str, job: str, time: str, source: str) -> Json:
        event = build.run("COMPLETE", name, job, time, reads=(f"x|{source}",), writes=("x|t",))
        field = {"namespace": "x", "name": source, "field": "a"}
        event["outputs"][0]["facets"] = {
            "columnLineage": {"fields": {"c": {"inputFields": [field]}}}
        }
        return event

    events = [
        run("1", "f.first", "08:00:00", "old"),
        run("2", "f.first", "09:00:00", "left"),
        run("3", "f.second", "08:30:00", "right"),
    ]
    store, fresh = Store(), Live(EventLog("sqlite://"))
    with delivering(fresh, store.answer) as forwarder:
        for at in order:
            fill(fresh, build, [events[at]])
            forwarder.drain()
    fresh.log.close()
    (lineage,) = store.of("upstreamLineage").values()
    assert {upstream["dataset"].split(",")[1] for upstream in lineage["upstreams"]} == {
        "left",
        "right",
    }
    columns = {up for lineage in lineage["fineGrainedLineages"] for up in lineage["upstreams"]}
    assert {column.split(",")[1] for column in columns} == {"left", "right"}


def test_unsupported_facts_are_emitted(delivered: Store) -> None:
    store = delivered
    airflow, metaflow = (
        "urn:li:dataFlow:(airflow,{},nyc_taxi)",
        "urn:li:dataFlow:(metaflow,{},nyc_taxi)",
    )
    flow = airflow.format(_TAXI)
    stage, download = (f"urn:li:dataJob:({flow},{_TAXI}.{task})" for task in ("stage", "download"))
    assert store.of("dataFlowInfo")[flow]["description"].startswith("Load NYC yellow taxi trips")
    assert {"tag": "urn:li:tag:taxi"} in store.of("globalTags")[stage]["tags"]
    assert store.of("ownership")[stage]["owners"][0]["owner"] == "urn:li:corpuser:ingestion"
    awaited = store.of("dataJobInputOutput")[
        f"urn:li:dataJob:({metaflow.format(_FLOW)},{_FLOW}.train)"
    ]["inputDatajobEdges"]
    before = f"urn:li:dataJob:({metaflow.format(_FLOW)},{_FLOW}.prepare_training_data)"
    assert [edge["destinationUrn"] for edge in awaited] == [before]
    path = store.of("browsePathsV2")[before]["path"]
    assert [entry["id"] for entry in path] == [
        "train_forecast_model", "train_forecast_model.run_flow", _FLOW,
    ]  # fmt: skip
    assert path[0]["urn"].startswith("urn:li:dataJob:(urn:li:dataFlow:(airflow,")
    model = store.of("mlModelProperties")[
        f"urn:li:mlModel:(urn:li:dataPlatform:metaflow,{_FLOW}/model,PROD)"
    ]
    assert model["trainingJobs"] == [f"urn:li:dataJob:({metaflow.format(_FLOW)},{_FLOW}.train)"]
    assert model["downstreamJobs"] == [
        f"urn:li:dataJob:({metaflow.format(_FLOW)},{_FLOW}.write_forecasts_to_table)"
    ]
    assert model["version"]["versionTag"]
    raw = "urn:li:dataset:(urn:li:dataPlatform:hive,nyc_taxi.yellow_taxi_raw,PROD)"
    staging = raw.replace("taxi_raw", "taxi_staging")
    assert [upstream["dataset"] for upstream in store.of("upstreamLineage")[raw]["upstreams"]] == [
        staging
    ]
    assert store.of("operation")[raw]["customProperties"]["version"]
    runs = store.of("dataProcessInstanceRelationships")
    assert any(value.get("parentInstance") in runs for value in runs.values())
    assert download in store.of("dataJobInputOutput")


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2)])
def test_model_is_linked_to_jobs_that_train_and_use_it(order: tuple[int, ...], build: Any) -> None:
    def train(run: str, time: str, version: str) -> Json:
        trained = build.run("COMPLETE", run, "f.train", time, kind="METAFLOW/STEP")
        kind = {"datasetType": "MODEL"}
        about = {"datasetType": kind, "version": {"datasetVersion": version}}
        trained["outputs"] = [build.dataset("metaflow://m|f/model", **about)]
        return trained

    model = ("metaflow://m|f/model",)
    events = [
        train("1", "08:00:00", "one"),
        train("2", "09:00:00", "two"),
        build.run("COMPLETE", "3", "f.use", "08:30:00", reads=model, kind="METAFLOW/STEP"),
        build.run("COMPLETE", "4", "dag.score", "09:30:00", reads=model, kind="AIRFLOW/TASK"),
    ]
    store, fresh = Store(), Live(EventLog("sqlite://"))
    with delivering(fresh, store.answer) as forwarder:
        for at in order:
            fill(fresh, build, [events[at]])
            forwarder.drain()
        assert not forwarder.rejected
    fresh.log.close()
    urn = "urn:li:mlModel:(urn:li:dataPlatform:metaflow,f/model,PROD)"
    result = store.of("mlModelProperties")[urn]
    job = "urn:li:dataJob:(urn:li:dataFlow:({},{},demo),{})"
    assert result["trainingJobs"] == [job.format("metaflow", "f", "f.train")]
    assert result["downstreamJobs"] == [
        job.format("airflow", "dag", "dag.score"),
        job.format("metaflow", "f", "f.use"),
    ]
    assert result["version"]["versionTag"] == "two"


@pytest.mark.parametrize("trouble", [401, 429, 500, 503, "cut", "closed", "slow"])
@pytest.mark.parametrize("nth", [0, 1])
def test_both_parts_are_resent_if_either_endpoint_is_busy(
    live: Live, build: Any, trouble: Answer, nth: int
) -> None:
    store = Store()

    def answer(body: Json, at: int) -> Answer:
        return trouble if at == nth else store.answer(body, at)

    with delivering(live, answer, timeout=0.5 if trouble == "slow" else 30) as forwarder:
        fill(live, build, [build.run("COMPLETE", "a", "f.j", "08:00:00", reads=("x|in",))])
        with pytest.raises(UnavailableError, match="127.0.0.1"):
            forwarder.drain()
        assert forwarder.drain_patiently() == 1
    assert store.edges() == {"f.j": ({"in"}, set())}
    assert store.of("browsePathsV2")


@pytest.mark.parametrize(
    ("place", "catalog"),
    [
        ("s3://lake|wh/shop/t", "http://catalog:8181"),
        ("file|/data/wh/shop/t", "file:/data/wh"),
        ("file|/data/wh/shop/t", "file:///data/wh"),
        ("s3://lake|wh/shop/t", "s3://lake/wh"),
        ("s3://lake|wh/shop/t", "jdbc:postgresql://db:5432/catalog"),
        ("hdfs://nn:8020|/wh/shop/t", "hive://metastore:9083"),
    ],
)
def test_table_of_any_catalog_has_the_converters_platform(
    place: str, catalog: str, build: Any
) -> None:
    written = build.dataset(place, symlinks=[(catalog, "shop.t", "TABLE")])
    spark = build.run("COMPLETE", "a", "app.a", "08:00:00", reads=("x|in",))
    spark["outputs"] = [written]
    flow = build.run("COMPLETE", "b", "f.b", "08:01:00", reads=(f"{catalog}|shop.t",))
    flow["outputs"] = [build.dataset("x|out")]
    source = {"namespace": catalog, "name": "shop.t", "field": "a"}
    lineage = {"fields": {"b": {"inputFields": [source]}}}
    flow["outputs"][0]["facets"]["columnLineage"] = lineage
    first, second = sent(DATAHUB, [spark, flow])
    assert converter_urn(written) == _urn("hive", "shop.t")
    for dataset in (*first["outputs"], *second["inputs"]):
        assert converter_urn(dataset) == dataset_urn(dataset) == _urn("hive", "shop.t")
    input_fields = second["outputs"][0]["facets"]["columnLineage"]["fields"]["b"]["inputFields"]
    assert [converter_urn(item) for item in input_fields] == [_urn("hive", "shop.t")]


def test_dataset_that_only_a_location_symlink_names_keeps_its_platform(build: Any) -> None:
    event = build.run("COMPLETE", "a", "f.a", "08:00:00")
    link = ("s3://lake", "wh/t", "LOCATION")
    event["inputs"] = [build.dataset("postgres://db:5432|shop.public.t", symlinks=[link])]
    (body,) = sent(DATAHUB, [event])
    assert [converter_urn(input_) for input_ in body["inputs"]] == [
        _urn("postgres", "shop.public.t")
    ]


@pytest.mark.parametrize("old", ["table/shop/t", "shop.t"])
def test_glue_tables_of_old_producers_are_the_same_tables(old: str, build: Any) -> None:
    spark = build.run("COMPLETE", "a", "app.a", "08:00:00")
    link = (_GLUE.removeprefix("arn:"), old, "TABLE")
    spark["outputs"] = [build.dataset("s3://b|wh/t", symlinks=[link])]
    flow = build.run("COMPLETE", "b", "f.b", "08:01:00", reads=(f"{_GLUE}|table/shop/t",))
    assert converter_urn(spark["outputs"][0]) == _urn("glue", "shop.t")
    for events in ([spark, flow], [flow, spark]):
        datasets = [
            item for body in sent(DATAHUB, events) for item in (*body["inputs"], *body["outputs"])
        ]
        assert {converter_urn(dataset) for dataset in datasets} == {_urn("glue", "shop.t")}


def test_glue_table_has_one_urn(build: Any) -> None:
    arn = _GLUE
    spark = build.run("COMPLETE", "a", "app.a", "08:00:00", reads=("x|in",))
    spark["outputs"] = [build.dataset("s3://b|wh/t", symlinks=[(arn, "table/shop/t", "TABLE")])]
    flow = build.run("COMPLETE", "b", "f.b", "08:01:00", reads=(f"{arn}|table/shop/t",))
    urns = {
        converter_urn(item)
        for events in ([spark, flow], [flow, spark])
        for body in sent(DATAHUB, events)
        for item in (*body["inputs"], *body["outputs"])
    }
    glue = "urn:li:dataset:(urn:li:dataPlatform:glue,shop.t,PROD)"
    assert urns == {glue, "urn:li:dataset:(urn:li:dataPlatform:x,in,PROD)"}


@pytest.mark.parametrize("dag", ["ingest", "team.ingest"])
def test_flow_is_the_top_of_the_hierarchy_whatever_its_name(build: Any, dag: str) -> None:
    task = f"{dag}.load"
    about = {"documentation": {"description": "Loads rides."}}
    pipeline = build.run("START", "r0", dag, "08:00:00")
    pipeline["job"]["facets"] |= about
    names = ("eventTime", "producer", "job")
    declared = {name: build.run("", "r0", task, "08:00:00")[name] for name in names}
    state = build.state(pipeline, build.run("COMPLETE", "r1", task, "08:01:00", parent=("r0", dag)))
    contexts = Contexts(state)
    key = next(key for key in state.runs if key.job.name == task)
    assert contexts.of_run(key).flow_facets == about
    assert contexts.of_declaration(build.entry(declared).event).flow_facets == about
