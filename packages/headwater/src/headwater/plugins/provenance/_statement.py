"""Provenance as an in-toto statement, which can be signed and kept with a file or a model.

The predicate is SLSA's provenance (https://slsa.dev/spec/v1.0/provenance). Its build is the run
that wrote the dataset, and its dependencies are all versions and commits upstream. A resource is
one of these, or the dataset itself, with a digest that identifies its content or version.
"""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from typing import Annotated

from headwater import deadline
from headwater.datasets.quality import Check, checks_of
from headwater.datasets.writes import Write, newest_write, writes_of
from headwater.errors import NotFoundError
from headwater.events import JobRef, shown_time
from headwater.graph.current import generations_of
from headwater.graph.nodes import Node, name_of, node_id
from headwater.identity import DatasetName
from headwater.lookup import find_dataset
from headwater.plugins.provenance import models
from headwater.plugins.provenance._answer import provenance_answer
from headwater.plugins.provenance.envelope import BUILD_TYPE, PROJECT
from headwater.projection import State
from headwater.query.models import CodeLocation
from headwater.query.parameters import Name
from headwater.query.registry import Times, query
from headwater.runs.service import parameters_of
from headwater.runs.summary import run_line

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
_SHA1 = re.compile("[0-9a-f]{40}")


@query("provenance/statement", Times.THEN)
def statement_answer(
    state: State,
    node: Name,
    version: Annotated[
        str | None, "A version of the dataset, or the id of the run that wrote it."
    ] = None,
) -> models.Statement:
    """Return the provenance of a version of a dataset as an in-toto statement, to be signed."""
    name = find_dataset(state, node).dataset_name
    write = _write_of(state, name, version)
    provenance = provenance_answer(state, node_id(Node.of_dataset(name)), write.version)
    run = run_line(state, write.run)
    return {
        "_type": STATEMENT,
        "subject": [_resource(name, write.version)],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "dataset": node_id(Node.of_dataset(name)),
                    "parameters": parameters_of(write.run),
                },
                "internalParameters": {
                    "runs": [_stated_run(state, entry) for entry in provenance["runs"]],
                    "checks": _checks(state, provenance),
                    "unknown": provenance["unknown"],
                },
                "resolvedDependencies": _dependencies(provenance),
            },
            "runDetails": {
                "builder": {
                    "id": PROJECT,
                    "version": {"headwater": version_of("headwater")},
                },
                "metadata": {
                    "invocationId": run["runId"],
                    "startedOn": run["startedAt"],
                    "finishedOn": run["endedAt"],
                },
            },
        },
    }


def _write_of(state: State, name: DatasetName, version: str | None) -> Write:
    """Return the write of a version, by default the newest one. Raises NotFoundError."""
    generations = generations_of(state)
    if version is None:
        newest = newest_write(generations, name)
        found = newest and newest[0]
    else:
        writes = [
            w for w in writes_of(generations, name) if version in (w.version, w.run.key.run_id)
        ]
        found = max(writes, key=lambda write: write.at, default=None)
    if found is None:
        what = "any version" if version is None else f"version {version!r}"
        raise NotFoundError(f"no known run wrote {what} of {name.name}; see its history")
    return found


def _stated_run(state: State, entry: models.ProvenanceRun) -> models.StatedRun:
    """Return a run of the provenance with its parameters."""
    run_id = entry["run"]["runId"] if entry["run"] else ""
    keys = state.runs_by_id.get(run_id, ())
    own = [state.runs[key] for key in keys if name_of(key.job) == entry["job"]]
    return {
        "job": entry["job"],
        "run": entry["run"],
        "code": entry["code"],
        "inputs": entry["inputs"],
        "outputs": entry["outputs"],
        "parameters": parameters_of(own[0]) if own else {},
    }


def _dependencies(provenance: models.ProvenanceAnswer) -> list[models.Resource]:
    """Return every version that was read, and every commit of the code, each once."""
    found: list[models.Resource] = []
    read = sorted(
        {
            (dataset["namespace"], dataset["name"], version)
            for entry in provenance["runs"]
            for dataset in (*entry["inputs"], *provenance["sources"])
            for version in dataset["versions"] or [""]
        }
    )
    found += (_resource(DatasetName(*name), version) for *name, version in read)
    code = {
        (str(entry["code"].get("repoUrl")), str(entry["code"].get("version")))
        for entry in provenance["runs"]
        if entry["code"].get("repoUrl")
    }
    return found + [_commit({"repoUrl": url, "version": version}) for url, version in sorted(code)]


def _resource(name: DatasetName, version: str) -> models.Resource:
    """Return a dataset at a version; Metaflow's versions of artifacts are their SHA-1.

    An empty version is unknown: the resource then has no digest.
    """
    resource: models.Resource = {"name": node_id(Node.of_dataset(name))}
    if version:
        is_hash = name.namespace.startswith("metaflow") and _SHA1.fullmatch(version)
        resource["digest"] = {"sha1" if is_hash else "version": version}
    return resource


def _commit(code: CodeLocation) -> models.Resource:
    """Return code at a commit; without a digest if the commit is unknown or was changed."""
    url, version = str(code.get("repoUrl")), str(code.get("version"))
    resource: models.Resource = {"uri": f"git+{url}"}
    if _SHA1.fullmatch(version):
        resource["digest"] = {"gitCommit": version}
    return resource


def _checks(state: State, provenance: models.ProvenanceAnswer) -> list[models.StatedCheck]:
    """Return the checks of the versions that were read or written.

    Of those that name no version, only the newest of each job is returned.
    """
    versions: dict[DatasetName, set[str]] = {}
    for entry in provenance["runs"]:
        for dataset in (*entry["inputs"], *entry["outputs"]):
            name = DatasetName(dataset["namespace"], dataset["name"])
            versions.setdefault(name, set()).update(dataset["versions"])
    found: list[models.StatedCheck] = []
    for name, stated in deadline.watched(sorted(versions.items())):
        newest: dict[JobRef | None, Check] = {}
        for check in checks_of(state, name):
            if check.version in stated:
                found.append(_check(name, check))
            elif check.version is None and check.assertions:
                newest[check.run.key.job if check.run else None] = check
        found += (_check(name, check) for check in newest.values())
    return found


def _check(name: DatasetName, check: Check) -> models.StatedCheck:
    """Return a check of a dataset with its assertions by result."""
    results: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for assertion in check.assertions:
        results[assertion.passed].append(assertion.title)
    return {
        **name_of(name),
        "checkedAt": shown_time(check.time),
        "version": check.version,
        "passed": results[True],
        "failed": results[False],
        "withoutResult": results[None],
    }
