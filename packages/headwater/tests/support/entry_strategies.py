"""Random events for property tests, and the export of their projection."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import strategies as st

from headwater.lineage.queries import edges_answer
from headwater.log import Entry, entry_of
from headwater.plugins.aliases._entry import make_alias
from headwater.plugins.export.queries import export
from headwater.projection import State

_TYPES = ("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER")
_RULE = (("s3://b", "%s"), ("metaflow", "F/%s"))
_DATASETS = (
    "file|/a",
    "file://|/a",
    "s3a://b|k",
    "s3://b|k",
    "s3://b|k/p",
    "hive://h|db.t",
    "metaflow|F/x",
    "metaflow|F/k",
)


def canonical(state: State) -> bytes:
    """Return the export and all edges of all levels as JSON."""
    edges = [
        edges_answer(state, level, kind)["items"]
        for level in ("query", "task", "pipeline")
        for kind in ("data", "control", "direct")
    ]
    return orjson.dumps([export(state), edges], default=list, option=orjson.OPT_SORT_KEYS)


@st.composite
def run_entries(draw: st.DrawFn) -> list[Entry]:
    """Generate events of a few runs and jobs, interleaved, with equal times and late symlinks."""
    bodies: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, 14))):
        run = draw(st.integers(0, 4))
        job = draw(st.sampled_from((run, run, run, 0)))  # a run id may belong to several jobs
        facets: dict[str, Any] = {}
        if draw(st.booleans()):
            above = draw(st.integers(0, 4))
            reference = {"run": {"runId": f"run-{above}"}, "job": _job(above % 3)}
            root = {"run": {"runId": "run-0"}, "job": _job(0)}
            facets["parent"] = {**reference, "root": root}
        if draw(st.booleans()):
            facets["jobDependencies"] = {"upstream": [{"job": _job(draw(st.integers(0, 2)))}]}
        job_facets: dict[str, Any] = {"sql": {"query": draw(st.text(max_size=2))}}
        if draw(st.booleans()):
            job_facets["jobType"] = {"jobType": draw(st.sampled_from(("DAG", "TASK", "QUERY")))}
        if draw(st.integers(0, 3)) == 0:
            job_facets["lineage"] = {"entries": draw(st.lists(_stated(), max_size=2))}
        bodies.append(
            {
                "eventType": draw(st.sampled_from(_TYPES)),
                "eventTime": f"2025-11-21T08:00:0{draw(st.integers(0, 5))}Z",
                "run": {"runId": f"run-{run}", "facets": facets},
                "job": {**_job(job % 3), "facets": job_facets},
                "inputs": draw(st.lists(_dataset(), max_size=2)),
                "outputs": draw(st.lists(_dataset(), max_size=2)),
            }
        )
    return [entry_of(orjson.dumps(body)) for body in bodies]


def _job(number: int) -> dict[str, Any]:
    return {"namespace": "n", "name": f"job-{number}"}


@st.composite
def _end(draw: st.DrawFn) -> dict[str, Any]:
    """Generate a dataset or a job in an explicit lineage facet."""
    if draw(st.booleans()):
        return {"type": "JOB", **_job(draw(st.integers(0, 2)))}
    namespace, name = draw(st.sampled_from(_DATASETS)).split("|")
    return {"type": "DATASET", "namespace": namespace, "name": name}


@st.composite
def _stated(draw: st.DrawFn) -> dict[str, Any]:
    return {**draw(_end()), "inputs": draw(st.lists(_end(), max_size=2))}


@st.composite
def _dataset(draw: st.DrawFn) -> dict[str, Any]:
    namespace, name = draw(st.sampled_from(_DATASETS)).split("|")
    facets: dict[str, Any] = {}
    if draw(st.booleans()):
        facets["version"] = {"datasetVersion": str(draw(st.integers(1, 3)))}
    if draw(st.integers(0, 4)) == 0:
        other, table = draw(st.sampled_from(_DATASETS)).split("|")
        facets["symlinks"] = {"identifiers": [{"namespace": other, "name": table, "type": "TABLE"}]}
    if draw(st.booleans()):
        other, table = draw(st.sampled_from(_DATASETS)).split("|")
        made_of = {"namespace": other, "name": table, "field": draw(st.sampled_from("xy"))}
        fields = {draw(st.sampled_from("xy")): {"inputFields": [made_of]}}
        facets["columnLineage"] = {"fields": fields}
    if draw(st.integers(0, 4)) == 0:
        exposures = draw(st.lists(st.sampled_from("uv"), max_size=2, unique=True))
        facets["dbt_exposures"] = {"exposures": [{"unique_id": item} for item in exposures]}
    return {"namespace": namespace, "name": name, "facets": facets}


@st.composite
def some_entries(draw: st.DrawFn) -> list[Entry]:
    """Generate the same with job events, dataset events and aliases."""
    entries = draw(run_entries())
    for number in range(draw(st.integers(0, 3))):
        names = [draw(st.sampled_from(_DATASETS)).split("|") for _ in range(2)]
        time = f"2025-11-21T08:00:0{draw(st.integers(0, 5))}Z"
        if draw(st.integers(0, 4)) == 0:
            entry = make_alias(*_RULE, number, "reported" if draw(st.booleans()) else "rule")
        elif draw(st.booleans()):
            one, other = ((namespace, name) for namespace, name in names)
            entry = make_alias(one, other, number, "reported" if draw(st.booleans()) else "same")
        else:
            inputs, outputs = ([{"namespace": n, "name": m}] for n, m in names)
            stated = draw(st.lists(_stated(), max_size=2))
            job = {**_job(draw(st.integers(0, 3))), "facets": {"lineage": {"entries": stated}}}
            view = {**inputs[0], "facets": {"lineage": {"inputs": [draw(_end())]}}}
            declared = {"job": job, "inputs": inputs, "outputs": outputs}
            result = declared if draw(st.booleans()) else {"dataset": view}
            entry = entry_of(orjson.dumps({"eventTime": time, **result}))
        entries.insert(draw(st.integers(0, len(entries))), entry)
    return entries
