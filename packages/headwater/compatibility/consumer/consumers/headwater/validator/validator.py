"""Validate headwater against the consumer scenarios of OpenLineage's compatibility tests.

Each scenario gets a server of its own with an empty database. Its events are posted one by one,
and the answers of the API are compared with the files in `scenarios/*/validation`. Only fields
that come from the events are compared, not identifiers that the server makes. An entity that is
missing, or not expected, is a failure.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

Json = Any
Entities = list[dict[str, Json]]
Get = Callable[[str], Json]

TIMEOUT_SECONDS = 30
PAGE = 1_000

_DATASET = {"namespace": ..., "name": ...}
_USED = {"datasetVersionId": _DATASET, "facets": {"outputStatistics": ..., "inputStatistics": ...}}
# The compared fields of each entity; `...` is a whole value, and fields of facets that begin with
# an underscore are left out.
FIELDS: dict[str, dict[str, Any]] = {
    "job": {
        "namespace": ...,
        "name": ...,
        "simpleName": ...,
        "parentJobName": ...,
        "type": ...,
        "labels": ...,
        "inputs": _DATASET,
        "outputs": _DATASET,
        "latestRun": {"id": ..., "state": ...},
        "facets": {"jobType": ..., "sql": ..., "ownership": ..., "sourceCode": {"language": ...}},
    },
    "run": {
        "id": ...,
        "jobVersion": {"namespace": ..., "name": ...},
        "state": ...,
        "startedAt": ...,
        "endedAt": ...,
        "nominalStartTime": ...,
        "nominalEndTime": ...,
        "inputDatasetVersions": _USED,
        "outputDatasetVersions": _USED,
        "facets": {"parent": ..., "processing_engine": ..., "externalQuery": ...},
    },
    "dataset": {
        "namespace": ...,
        "name": ...,
        "physicalName": ...,
        "sourceName": ...,
        "lastLifecycleState": ...,
        "fields": {"name": ..., "type": ...},
        "facets": {"dataSource": ..., "symlinks": ...},
    },
    "lineage": {"origin": ..., "destination": ...},
    "column_lineage": {
        "namespace": ...,
        "name": ...,
        "field": ...,
        "inputs": {
            "namespace": ...,
            "name": ...,
            "field": ...,
            "isDirect": ...,
            "transformation": ...,
        },
    },
}
IDENTITY = {
    "job": ("namespace", "name"),
    "run": ("id",),
    "dataset": ("namespace", "name"),
    "lineage": ("origin", "destination"),
    "column_lineage": ("namespace", "name", "field"),
}


def read_json(path: Path) -> Json:
    """Return the contents of a JSON file."""
    return json.loads(path.read_text())


def post_event(url: str, event: bytes) -> str | None:
    """Post an event; return why it was rejected, or None."""
    headers = {"Content-Type": "application/json"}
    request = Request(f"{url}/api/v1/lineage", data=event, headers=headers)
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS):
            return None
    except HTTPError as error:
        with error:
            return f"{error.code}: {error.read().decode(errors='replace')}"


def get_from(url: str) -> Get:
    """Return a function that requests a path of a server."""

    def get(path: str) -> Json:
        with urlopen(url + path, timeout=TIMEOUT_SECONDS) as response:
            return json.load(response)

    return get


def read_state(get: Get) -> dict[str, Entities]:
    """Return the entities of a server's API, sorted, with the compared fields only."""
    jobs = get(f"/api/v1/jobs?limit={PAGE}")["jobs"]
    names = [
        namespace["name"] for namespace in get(f"/api/v1/namespaces?limit={PAGE}")["namespaces"]
    ]
    paths = [f"/api/v1/namespaces/{_quoted(name)}/datasets?limit={PAGE}" for name in names]
    datasets = [dataset for path in paths for dataset in get(path)["datasets"]]
    found = {
        "job": jobs,
        "run": [run for job in jobs for run in _runs(get, job)],
        "dataset": datasets,
        "lineage": [edge for job in jobs for edge in _edges(get, job)],
        "column_lineage": [column for dataset in datasets for column in _columns(get, dataset)],
    }
    return {
        entity: _unique([_picked(item, FIELDS[entity]) for item in items], IDENTITY[entity])
        for entity, items in found.items()
    }


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _runs(get: Get, job: Json) -> Entities:
    path = f"/api/v1/namespaces/{_quoted(job['namespace'])}/jobs/{_quoted(job['name'])}/runs"
    runs: Entities = get(f"{path}?limit={PAGE}")["runs"]
    return runs


def _edges(get: Get, job: Json) -> Iterator[dict[str, Json]]:
    node = f"job:{job['namespace']}:{job['name']}"
    for item in get(f"/api/v1/lineage?depth=1&nodeId={_quoted(node)}")["graph"]:
        yield from (*item["inEdges"], *item["outEdges"])


def _columns(get: Get, dataset: Json) -> Iterator[dict[str, Json]]:
    node = f"dataset:{dataset['namespace']}:{dataset['name']}"
    path = f"/api/v2/columns?depth=1&indirect=true&node={_quoted(node)}"
    for column in get(path)["up"]["children"]:
        inputs = sorted(column["children"], key=lambda child: [child[k] for k in _COLUMN_ORDER])
        yield {**column, "inputs": inputs}


_COLUMN_ORDER = ("namespace", "name", "field", "isDirect")


def _picked(value: Json, fields: Any) -> Json:
    if isinstance(value, list):
        return [_picked(item, fields) for item in value]
    if not isinstance(value, dict):
        return value
    if fields is ...:
        return {k: _picked(v, ...) for k, v in value.items() if not k.startswith("_")}
    return {key: _picked(value[key], inner) for key, inner in fields.items() if key in value}


def _unique(items: Entities, identity: tuple[str, ...]) -> Entities:
    found = {tuple(item[key] for key in identity): item for item in items}
    return [found[key] for key in sorted(found)]


def differences(entity: str, expected: Entities, actual: Entities) -> list[str]:
    """Return a line per difference between the expected and the actual entities of one kind."""
    keys = IDENTITY[entity]
    wanted, got = ({tuple(item[k] for k in keys): item for item in e} for e in (expected, actual))
    lines = [f"{entity} {key}: missing" for key in wanted if key not in got]
    lines += [f"{entity} {key}: not expected" for key in got if key not in wanted]
    for key in wanted.keys() & got.keys():
        lines += _different(f"{entity} {key}", wanted[key], got[key])
    return sorted(lines)


def _different(place: str, expected: Json, actual: Json) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            yield from _different(f"{place}.{key}", expected.get(key), actual.get(key))
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from _different(f"{place}[{index}]", one, other)
    elif expected != actual:
        yield f"{place}: expected {json.dumps(expected)}, received {json.dumps(actual)}"


def report_test(
    name: str, validation: str, entity: str, details: list[str], tags: Json
) -> dict[str, Json]:
    """Return the result of one test as the reports of the compatibility tests have it."""
    return {
        "name": name,
        "status": "FAILURE" if details else "SUCCESS",
        "validation_type": validation,
        "entity_type": entity,
        "details": details,
        "tags": tags,
    }


def validate(url: str, events: Path, consumer: Path, *, dump: bool = False) -> dict[str, Json]:
    """Post a scenario's events to an empty server; return the report on the scenario.

    With `dump`, write the state of the API as the expected one instead of comparing them.
    """
    own = consumer / "scenarios" / events.name
    produced = read_json(events / "config.json")
    tests = []
    for file in sorted((events / "events").glob("*.json")):
        rejected = post_event(url, file.read_bytes())
        details = [rejected] if rejected else []
        tests.append(report_test(file.name, "syntax", "openlineage", details, produced))
    state = read_state(get_from(url))
    for test in read_json(own / "config.json")["tests"]:
        path, entity = own / test["path"], test["entity"]
        if dump:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(state[entity], indent=2) + "\n")
        details = differences(entity, read_json(path), state[entity])
        tests.append(report_test(test["name"], "semantics", entity, details, test["tags"]))
    failed = any(test["status"] == "FAILURE" for test in tests)
    return {"name": events.name, "status": "FAILURE" if failed else "SUCCESS", "tests": tests}


@contextmanager
def server(command: str) -> Iterator[str]:
    """Run `headwater serve` on a free port with an empty database; yield its URL."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [command, "serve", "--port", "0", "--database", f"{folder}/log.db"]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                greeting = process.stdout.readline()
                if "http://" not in greeting:
                    raise SystemExit(f"{' '.join(arguments)} does not start: {greeting!r}")
                yield "http://" + greeting.partition("http://")[2].partition(",")[0].strip()
            finally:
                process.terminate()


def main() -> None:
    """Validate all scenarios of the consumer, write the report, and fail if one fails."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--consumer_dir", type=Path, required=True)
    parser.add_argument("--scenario_dir", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True, help="file of the report")
    parser.add_argument("--release", default="", help="release of OpenLineage, for the report")
    parser.add_argument("--command", default="headwater", help="the command to validate")
    parser.add_argument("--dump", action="store_true", help="write the state that is expected")
    arguments = parser.parse_args()
    scenarios = []
    for folder in sorted((arguments.consumer_dir / "scenarios").iterdir()):
        with server(arguments.command) as url:
            events = arguments.scenario_dir / folder.name
            scenarios.append(validate(url, events, arguments.consumer_dir, dump=arguments.dump))
        sys.stdout.write(f"{folder.name}: {scenarios[-1]['status']}\n")
    component = {
        "name": "headwater",
        "component_type": "consumer",
        "component_version": "",
        "openlineage_version": arguments.release,
        "scenarios": scenarios,
    }
    arguments.target.write_text(json.dumps([component], indent=2) + "\n")
    sys.exit(any(scenario["status"] == "FAILURE" for scenario in scenarios))


if __name__ == "__main__":
    main()
