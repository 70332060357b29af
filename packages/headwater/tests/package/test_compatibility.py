"""The contribution to OpenLineage's compatibility tests: its layout, mapping and validator."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest

from packages.headwater.tests.support.servers import Server

pytestmark = pytest.mark.server

Json = Any
Validate = Callable[..., Json]

_CONSUMER = Path(__file__).parents[2] / "compatibility" / "consumer" / "consumers" / "headwater"
_OURS = sorted((_CONSUMER / "scenarios").iterdir())
_RUN = "01936895-0000-7000-8000-000000000001"
_ABOVE = "01936895-0000-7000-8000-000000000002"


def _json(path: Path) -> Json:
    return orjson.loads(path.read_bytes())


@pytest.fixture(scope="module")
def validator() -> ModuleType:
    """Return the module of the validator, which is not a package."""
    spec = importlib.util.spec_from_file_location("validator", _CONSUMER / "validator/validator.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def scenarios(shared: Path) -> Path:
    """Return the official scenarios; skip the test without the shared folder."""
    return shared.parent / "openlineage" / "consumer_scenarios" / "scenarios"


@contextmanager
def _server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "log.db")
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture
def validate(validator: ModuleType) -> Validate:
    """Validate the events of a folder, by an empty server, against the files of a consumer."""

    def run(events: Path, consumer: Path = _CONSUMER, *, dump: bool = False) -> Json:
        with _server() as server:
            return validator.validate(server.url, events, consumer, dump=dump)

    return run


def test_consumer_has_the_files_that_their_structure_check_requires() -> None:
    assert not [
        name for name in ("README.md", "maintainers.json", "mapping.json")
        if not (_CONSUMER / name).is_file()
    ]  # fmt: skip
    for scenario in _OURS:
        for name in ("config.json", "maintainers.json", "scenario.md", "validation"):
            assert (scenario / name).exists(), f"{scenario.name}/{name}"


def test_configs_name_every_expected_state_as_required(
    validator: ModuleType,
) -> None:
    for scenario in _OURS:
        tests = _json(scenario / "config.json")["tests"]
        for test in tests:
            assert {"name", "path", "entity", "tags"} <= test.keys()
            assert test["tags"]["facets"]
            assert test["entity"] in validator.FIELDS
        results = {str(file.relative_to(scenario)) for file in scenario.glob("validation/*/*.json")}
        assert {test["path"] for test in tests} == results
        assert len({test["name"] for test in tests}) == len(tests)


def test_every_official_scenario_is_covered(scenarios: Path) -> None:
    assert [scenario.name for scenario in _OURS] == sorted(
        item.name for item in scenarios.iterdir()
    )


def test_every_facet_of_the_specification_is_mapped(scenarios: Path) -> None:
    facets = {
        name
        for file in (scenarios.parents[2] / "spec" / "facets").glob("*.json")
        for name in _json(file)["$defs"]
        if name.endswith("Facet")
    }
    mapping = _json(_CONSUMER / "mapping.json")
    named = mapping["mapped"].keys() | mapping["knownUnmapped"].keys()
    assert facets - named == {"BaseSubsetDatasetFacet"}  # either of the two Subset facets
    assert named - facets == {"core"}


def _report(scenarios: Path, consumer: Path, target: Path) -> tuple[int, Json]:
    """Run the validator as a command; return its exit code and the report on the consumer."""
    options = {
        "command": shutil.which("headwater", path=str(Path(sys.executable).parent)),
        "consumer_dir": consumer,
        "scenario_dir": scenarios,
        "target": target,
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    done = subprocess.run(
        [sys.executable, _CONSUMER / "validator" / "validator.py", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert target.is_file(), done.stderr
    (component,) = _json(target)
    return done.returncode, component


@pytest.mark.parametrize("name", [scenario.name for scenario in _OURS])
def test_validator_passes_the_official_scenarios(
    name: str, scenarios: Path, validate: Validate
) -> None:
    result = validate(scenarios / name)
    assert [test for test in result["tests"] if test["status"] != "SUCCESS"] == []
    assert (result["name"], result["status"]) == (name, "SUCCESS")


@pytest.mark.parametrize("name", [scenario.name for scenario in _OURS])
def test_order_of_events_does_not_change_the_state(
    name: str, scenarios: Path, validate: Validate, tmp_path: Path
) -> None:
    reversed_ = tmp_path / name
    (reversed_ / "events").mkdir(parents=True)
    shutil.copy(scenarios / name / "config.json", reversed_)
    files = sorted((scenarios / name / "events").iterdir(), reverse=True)
    for number, file in enumerate(files):
        shutil.copy(file, reversed_ / "events" / f"{number:03}.json")
    result = validate(reversed_)
    assert [test["details"] for test in result["tests"] if test["details"]] == []


def _is_dropped(item: Json) -> bool:
    facet = item.get("facets", {}).get("lifecycleStateChange", {})
    return facet.get("lifecycleStateChange") in ("DROP", "TRUNCATE")


class ScenarioLineage:
    """The lineage of a scenario, read without headwater; tables are identified by location."""

    def __init__(self, folder: Path) -> None:
        events = [_json(file) for file in (folder / "events").iterdir()]
        self.events = sorted(events, key=lambda event: event["eventTime"])
        self._places = {
            (name["namespace"], name["name"]): (item["namespace"], item["name"])
            for event in self.events
            for item in (*event["inputs"], *event["outputs"])
            for name in (item, *item.get("facets", {}).get("symlinks", {}).get("identifiers", ()))
        }

    def place(self, item: Json) -> tuple[str, str]:
        """Return the location of a dataset by any of its aliases."""
        namespace = item["namespace"].removesuffix(":8020")  # HDFS's default port
        name = namespace, item["name"]
        return self._places.get(name, name)

    def runs(self) -> set[tuple[str, str, str]]:
        """Return the id, job and state of each run; a mere parent ends with its children."""
        parents = [event["run"]["facets"].get("parent") for event in self.events]
        ended = {
            parent["run"]["runId"]: (parent["job"]["name"], "COMPLETE")
            for parent in parents
            if parent
        }
        for event in self.events:
            ended[event["run"]["runId"]] = event["job"]["name"], event["eventType"]
        return {(id_, job, f"{state}D") for id_, (job, state) in ended.items()}

    def datasets(self) -> set[tuple[str, str]]:
        """Return the locations of all datasets."""
        return set(self._places.values())

    def edges(self) -> set[tuple[str, str, str]]:
        """Return edges: job, dataset by namespace and name, and direction."""
        return {
            (f"{way} job:{event['job']['namespace']}:{event['job']['name']}", *self.place(item))
            for event in self.events
            for way, side in (("to", "inputs"), ("from", "outputs"))
            for item in event[side]
            if not _is_dropped(item)
        }

    def columns(self) -> set[tuple[str, str, str, str, frozenset[str]]]:
        """Return target and source as dataset and column, with transformation subtypes."""
        last = {}
        for event in self.events:
            for output in event["outputs"]:
                facet = output.get("facets", {}).get("columnLineage", {})
                for field, about in facet.get("fields", {}).items():
                    last[self.place(output)[1], field] = about["inputFields"]
        return {
            (
                name,
                field,
                self.place(input_)[1],
                input_["field"],
                frozenset(kind["subtype"] for kind in input_.get("transformations", ())),
            )
            for (name, field), inputs in last.items()
            for input_ in inputs
        }


@pytest.mark.parametrize("name", [scenario.name for scenario in _OURS])
def test_expected_state_matches_the_events(name: str, scenarios: Path) -> None:
    result, own = ScenarioLineage(scenarios / name), _CONSUMER / "scenarios" / name / "validation"
    runs = _json(own / "run/runs.json")
    assert {(r["id"], r["jobVersion"]["name"], r["state"]) for r in runs} == result.runs()
    datasets = _json(own / "dataset/datasets.json")
    assert sorted(map(result.place, datasets)) == sorted(result.datasets())
    nodes = {f"dataset:{d['namespace']}:{d['name']}": result.place(d) for d in datasets}
    assert {
        (f"to {end}", *nodes[start]) if start in nodes else (f"from {start}", *nodes[end])
        for start, end in (
            (e["origin"], e["destination"]) for e in _json(own / "lineage/edges.json")
        )
    } == result.edges()
    file = own / "column_lineage/columns.json"
    columns = _json(file) if file.is_file() else []
    results = {
        (result.place(c)[1], c["field"], result.place(i)[1], i["field"], i["transformation"])
        for c in columns
        for i in c["inputs"]
    }
    kinds = {(*names, frozenset(filter(None, text.split(", ")))) for *names, text in results}
    assert kinds == result.columns()


def _scenario(folder: Path, events: list[Json]) -> Path:
    """Write a scenario of a producer."""
    (folder / "events").mkdir(parents=True)
    (folder / "config.json").write_text('{"openlineage_version": "1.0.0"}')
    for number, event in enumerate(events):
        (folder / "events" / f"{number}.json").write_text(json.dumps(event))
    return folder


@pytest.fixture
def mini(build: Any, tmp_path: Path, validate: Validate) -> tuple[Path, Path]:
    """Return a scenario of two events and a consumer with its expected state."""
    events = [
        build.run("START", _RUN, "load", "08:00:00"),
        build.run("COMPLETE", _RUN, "load", "08:01:00", reads=("s3://a|in",), writes=("db|out",)),
    ]
    consumer = tmp_path / "consumer"
    (consumer / "scenarios" / "mini").mkdir(parents=True)
    shutil.copy(_CONSUMER / "scenarios/simple_run_event/config.json", consumer / "scenarios/mini")
    scenario = _scenario(tmp_path / "mini", events)
    assert validate(scenario, consumer, dump=True)["status"] == "SUCCESS"
    return scenario, consumer


def test_validator_accepts_the_expected_state(mini: tuple[Path, Path], validate: Validate) -> None:
    result = validate(*mini)
    assert result["status"] == "SUCCESS"
    assert [test["name"] for test in result["tests"]] == [
        "0.json", "1.json", "job", "run", "dataset", "lineage",
    ]  # fmt: skip


def test_validator_names_every_difference(mini: tuple[Path, Path], validate: Validate) -> None:
    scenario, consumer = mini
    own = consumer / "scenarios" / "mini" / "validation"
    runs, edges, jobs = (
        _json(own / path) for path in ("run/runs.json", "lineage/edges.json", "job/jobs.json")
    )
    runs[0]["state"] = "FAILED"
    (own / "run/runs.json").write_text(json.dumps(runs))
    (own / "lineage/edges.json").write_text(json.dumps(edges[1:]))
    (own / "job/jobs.json").write_text(json.dumps([*jobs, {"namespace": "demo", "name": "no"}]))
    result = validate(scenario, consumer)
    assert result["status"] == "FAILURE"
    assert {test["name"]: test["details"] for test in result["tests"] if test["details"]} == {
        "job": ["job ('demo', 'no'): missing"],
        "run": [f'run (\'{_RUN}\',).state: expected "FAILED", received "COMPLETED"'],
        "lineage": ["lineage ('dataset:s3://a:in', 'job:demo:load'): not expected"],
    }


def test_validator_command_fails_if_a_scenario_does(
    mini: tuple[Path, Path], tmp_path: Path
) -> None:
    scenario, consumer = mini
    code, component = _report(scenario.parent, consumer, tmp_path / "report.json")
    assert (component["name"], component["component_type"]) == ("headwater", "consumer")
    assert (code, [item["status"] for item in component["scenarios"]]) == (0, ["SUCCESS"])
    (consumer / "scenarios/mini/validation/lineage/edges.json").write_text("[]")
    code, component = _report(scenario.parent, consumer, tmp_path / "report.json")
    assert (code, [item["status"] for item in component["scenarios"]]) == (1, ["FAILURE"])


def test_validator_reports_a_rejected_event(mini: tuple[Path, Path], validate: Validate) -> None:
    scenario, consumer = mini
    (scenario / "events" / "2.json").write_text('{"run": {}}')
    results = {test["name"]: test for test in validate(scenario, consumer)["tests"]}
    assert results["2.json"]["status"] == "FAILURE"
    assert results["2.json"]["details"][0].startswith("422: ")
    assert results["run"]["status"] == "SUCCESS"


_VALUES: dict[tuple[str, str], Json] = {
    ("SchemaDatasetFacet", "fields"): [{"name": "§", "type": "§", "description": "§"}],
    ("ColumnLineageDatasetFacet", "fields"): {
        "§": {"inputFields": [{"namespace": "s3://a", "name": "in", "field": "§"}]}
    },
    ("ColumnLineageDatasetFacet", "dataset"): [{"namespace": "s3://a", "name": "in", "field": "§"}],
    ("SymlinksDatasetFacet", "identifiers"): [
        {"namespace": "hive://metastore.example.org", "name": "§", "type": "TABLE"}
    ],
    ("NominalTimeRunFacet", "nominalStartTime"): "2025-11-21T08:00:00Z",
    ("NominalTimeRunFacet", "nominalEndTime"): "2025-11-21T09:00:00Z",
    ("JobTypeJobFacet", "processingType"): "STREAMING",
    ("ParentRunFacet", "run"): {"runId": _ABOVE},
    ("ParentRunFacet", "job"): {"namespace": "demo", "name": "§"},
    **{
        (facet, "tags"): [{"key": "§", "value": "true"}]
        for facet in ("TagsDatasetFacet", "TagsJobFacet", "TagsRunFacet")
    },
}
"""Values of fields of which the API shows more than the facet; `§` stands for the field's name."""


_METASTORE = "hive%3A%2F%2Fmetastore.example.org"
"""The namespace of the symlink."""


def _values(facet: str, field: str) -> tuple[Json, str]:
    """Return a value of a field of a facet, and the text by which to find it in an answer."""
    mark = f"{facet}.{field}"
    value = _VALUES.get((facet, field), "§")
    text = json.dumps(value, ensure_ascii=False)
    if "§" not in text:
        mark = {"STREAMING": "STREAM"}.get(str(value), str(value)[:16])
        mark = _ABOVE if isinstance(value, dict) else mark
    return json.loads(text.replace("§", mark)), mark


def _at(value: Json, path: list[str]) -> Iterator[Json]:
    """Yield the values at a path of a response, for every item of a list."""
    if isinstance(value, list):
        for item in value:
            yield from _at(item, path)
    elif not path:
        yield value
    elif isinstance(value, dict):
        for taken in range(1, len(path) + 1):
            if (key := ".".join(path[:taken])) in value:
                yield from _at(value[key], path[taken:])


def test_every_mapped_field_is_at_its_mapped_path(build: Any) -> None:
    mapped = _json(_CONSUMER / "mapping.json")["mapped"]
    mapped.pop("core")
    body = build.run(
        "COMPLETE", _RUN, "load", "08:00:00", reads=("s3://a|in",), writes=("s3://a|out",)
    )
    (input_,), (output,) = body["inputs"], body["outputs"]
    input_["inputFacets"], output["outputFacets"] = {}, {}
    books = {
        "Run": body["run"]["facets"],
        "Job": body["job"]["facets"],
        "Dataset": output["facets"],
        "Run.inputDatasetVersions": input_["inputFacets"],
        "Run.outputDatasetVersions": output["outputFacets"],
    }
    for facet, fields in mapped.items():
        for field, paths in fields.items():
            place, _, rest = paths.split(", ")[-1].partition(".facets.")
            key = rest.removesuffix(f".{field}")
            books[place].setdefault(key, {})[field] = _values(facet, field)[0]
    with _server() as server:
        assert server.post(body) == 201
        job = server.get("/api/v1/namespaces/demo/jobs/load")
        name = "SymlinksDatasetFacet.identifiers"
        answers = {
            "Job": job,
            "Run": server.get(f"/api/v1/jobs/runs/{_RUN}"),
            "Dataset": server.get(f"/api/v1/namespaces/{_METASTORE}/datasets/{name}"),
        }
    missing = [
        f"{facet}.{field}: {path}"
        for facet, fields in mapped.items()
        for field, paths in fields.items()
        for path in paths.split(", ")
        if _values(facet, field)[1]
        not in json.dumps(list(_at(answers[path.split(".")[0]], path.split(".")[1:])))
    ]
    assert missing == []
