"""Cases of the truth suite: events, and everything that is true about them.

Each folder of `cases/` holds `truth.yaml` (see `Truth`) and, for the recorded run of a producer,
`events.jsonl` or `events.jsonl.xz`. Cases written by hand have their events in `truth.yaml` (see
`ShortRun`). No two cases share a dataset or a job, so that all of them fit into one server.
"""

from __future__ import annotations

import json
import lzma
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict

CASES = Path(__file__).parent / "cases"

Level = Literal["pipeline", "task", "query"]


class Strict(BaseModel):
    """A model that rejects unknown keys, so that a misspelled statement is no silent skip."""

    model_config = ConfigDict(extra="forbid")


class ShortDataset(Strict):
    """A dataset of an event: its name, after `namespace|` if it is not the case's, and facets."""

    name: str
    facets: dict[str, Any] = {}
    input_facets: dict[str, Any] = {}
    output_facets: dict[str, Any] = {}


class ShortRun(Strict):
    """A run: START at `at` and, unless `end` is null, an end event with all inputs and outputs."""

    job: str
    at: datetime
    until: datetime | None = None
    """Time of the last event; by default the only event is the one at `at`."""
    end: Literal["COMPLETE", "FAIL", "ABORT", "RUNNING"] | None = "COMPLETE"
    reads: list[str | ShortDataset] = []
    writes: list[str | ShortDataset] = []
    parent: str | None = None
    """`job@key` of the parent run; a run of its own is its job and `key`."""
    key: str = ""
    job_facets: dict[str, Any] = {}
    run_facets: dict[str, Any] = {}
    producer: str = "https://example.org/truth"


class Verdicts(Strict):
    """Statements that a user relies on; the keys are `dataset.column`, datasets or jobs."""

    drop: dict[str, Literal["safe", "unsafe", "unknown"]] = {}
    gate: dict[str, list[str]] = {}
    """Dataset: the rules that the default gate violates; none if it passes."""
    findings: list[str] | None = None
    """All findings of health, each as `kind subject`."""
    states: dict[str, str] = {}
    """Job or dataset: its state of health."""
    removals: dict[str, Literal["dropped", "emptied", "renamed"]] | None = None
    """All datasets that were removed and not written since."""


class VersionTruth(Strict):
    """The expected answer about a version of a dataset; nodes by their names."""

    read_by: list[str] = []
    """The jobs that read it, each with `version` or `time` for how this is known."""
    affects: list[str] = []
    """The datasets that contain its data, each as `dataset@version`."""
    unknown: list[str] = []
    """The kinds of what was not reported."""


class IncidentTruth(Strict):
    """The expected answer about an incident; nodes by their names."""

    versions: list[str]
    """The bad versions, each as `dataset@version`."""
    now: list[str] = []
    """The nodes that contain or use data of these versions now."""
    clean: list[str] = []
    """The datasets that are proven to have no data of them."""
    unproven: list[str] = []
    """The datasets that have none according to times, without a proof."""


class ControlTruth(Strict):
    """All control dependencies at the level of tasks, and the nodes that they add to trees."""

    edges: list[str]
    """Each as `job -> job`."""
    upstream: dict[str, list[str | list[str]]] = {}
    """By dataset: the nodes that only control dependencies lead to."""
    downstream: dict[str, list[str | list[str]]] = {}


class Truth(Strict):
    """What is true about the events of a case."""

    about: str
    """The kind of fault that the case stands for."""
    producers: list[str]
    """Integrations whose events these are; `handmade` if a person wrote them."""
    now: datetime
    """Time at which the statements are judged."""
    namespace: str = ""
    """Of datasets without a namespace; by default, that of the events by hand."""
    job_namespace: str = ""
    runs: list[ShortRun] = []
    tasks: list[str]
    """All data edges of tasks: `job: input, input -> output, output`."""
    pipelines: list[str] | None = None
    """Those of pipelines; by default those of tasks."""
    queries: list[str] | None = None
    contents: list[str] = []
    """Datasets that are derived without a job, such as folders: `folder: file, file`."""
    upstream: dict[str, list[str]] = {}
    """Nodes upstream of a dataset, if they are not all that its edges lead to."""
    downstream: dict[str, list[str]] = {}
    passed_through: dict[str, list[str]] = {}
    """Datasets that the tree downstream of a dataset shows only because later ones were made of
    them before they were replaced: they do not depend on the dataset now."""
    columns: list[str] | None = None
    """All column edges: `dataset.column <- dataset.column` for values, `<~` for rows.

    A source or target without a column (`dataset.*`) stands for all rows.
    """
    unreported_columns: list[str] = []
    """True column edges that the events do not determine; an answer may have or lack them."""
    control: ControlTruth | None = None
    absent: list[str] = []
    """Names that are no dataset."""
    versions: dict[str, VersionTruth] = {}
    """By `dataset@version`."""
    recalled: dict[str, list[str]] = {}
    """By `dataset@version`: the datasets that a gate refuses if it is recalled."""
    incidents: dict[str, IncidentTruth] = {}
    """By subject: a dataset with a failed check, or `dataset@version`."""
    unused: dict[str, list[str]] | None = None
    """All datasets that were written and not read for 30 days, each with the kinds of reasons why
    a reader may be unknown; none if it is unused."""
    verdicts: Verdicts = Verdicts()
    known_wrong: dict[Literal["edges", "trees", "columns", "verdicts"], str] = {}
    """Statements that headwater still gets wrong, by test, each with the reason."""


@dataclass(frozen=True)
class Case:
    """A case: the name of its folder, its truth and its events."""

    name: str
    folder: Path
    truth: Truth

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """Return the events in the order in which they were sent."""
        lines: list[str] = []
        for path in sorted(self.folder.glob("events.jsonl*")):
            raw = path.read_bytes()
            text = lzma.decompress(raw) if path.suffix == ".xz" else raw
            lines += text.decode().splitlines()
        return [json.loads(line) for line in lines] + list(_events(self))

    def edges(self, level: Level) -> set[tuple[str, str, str]]:
        """Return the edges at a level, as (job, "reads" or "writes", dataset)."""
        lines = {"pipeline": self.truth.pipelines, "query": self.truth.queries}.get(level)
        return {edge for line in self.truth.tasks if lines is None for edge in _parsed(line)} | {
            edge for line in lines or () for edge in _parsed(line)
        }

    def reachable(self, dataset: str, way: Literal["upstream", "downstream"]) -> set[str]:
        """Return the names of the nodes upstream or downstream of a dataset, without itself."""
        stated = self.truth.upstream if way == "upstream" else self.truth.downstream
        if dataset in stated:
            return set(stated[dataset])
        found: set[str] = set()
        open_ = [dataset]
        while open_:
            name = open_.pop()
            for line in self.truth.tasks:
                job, inputs, outputs = _line(line)
                source, target = (outputs, inputs) if way == "upstream" else (inputs, outputs)
                if name in source:
                    found.add(job)
                    open_ += [other for other in target if other not in found]
                    found |= set(target)
            for line in self.truth.contents:
                folder, _, files = line.partition(": ")
                inner = set(_names(files))
                above, below = ({folder}, inner) if way == "upstream" else (inner, {folder})
                if name in above:
                    open_ += below - found
                    found |= below
        return found - {dataset}

    @property
    def datasets(self) -> list[str]:
        """Return the names of all datasets with an edge at the level of tasks."""
        return sorted({dataset for _, _, dataset in self.edges("task")})


def cases() -> list[Case]:
    """Return all cases, by name."""
    return [
        Case(path.parent.name, path.parent, Truth(**yaml.safe_load(path.read_text())))
        for path in sorted(CASES.glob("*/truth.yaml"))
    ]


def _parsed(line: str) -> Iterator[tuple[str, str, str]]:
    job, inputs, outputs = _line(line)
    yield from ((job, "reads", name) for name in inputs)
    yield from ((job, "writes", name) for name in outputs)


def _line(line: str) -> tuple[str, list[str], list[str]]:
    """Return the job, inputs and outputs of `job: input -> output`; either side may be empty."""
    job, _, rest = line.partition(": ")
    inputs, _, outputs = f" {rest} ".partition(" -> ")
    return job, _names(inputs), _names(outputs)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(", ") if name.strip()]


def _events(case: Case) -> Iterator[dict[str, Any]]:
    """Yield the events of the runs that were written by hand."""
    truth = case.truth
    for run in truth.runs:
        moments = [(run.at, "START")] if run.until or run.end is None else []
        if run.end is not None:
            moments.append((run.until or run.at, run.end))
        for moment, type_ in moments:
            yield {
                "eventType": type_,
                "eventTime": moment.isoformat(),
                "producer": run.producer,
                "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
                "run": {
                    "runId": _run_id(case, run.job, run.key),
                    "facets": _parent(case, run.parent) | _facets(run.run_facets),
                },
                "job": {
                    "namespace": truth.job_namespace or case.name,
                    "name": run.job,
                    "facets": _facets(run.job_facets),
                },
                "inputs": [_dataset(truth, item) for item in run.reads],
                "outputs": [_dataset(truth, item) for item in run.writes],
            }


def _run_id(case: Case, job: str, key: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{case.name}/{job}@{key}"))


def _parent(case: Case, reference: str | None) -> dict[str, Any]:
    if reference is None:
        return {}
    job, _, key = reference.partition("@")
    parent = {
        "run": {"runId": _run_id(case, job, key)},
        "job": {"namespace": case.truth.job_namespace or case.name, "name": job},
    }
    return _facets({"parent": parent})


def _dataset(truth: Truth, item: str | ShortDataset) -> dict[str, Any]:
    short = ShortDataset(name=item) if isinstance(item, str) else item
    namespace, _, name = short.name.rpartition("|")
    dataset = {
        "namespace": namespace or truth.namespace,
        "name": name,
        "facets": _facets(short.facets),
    }
    for side, facets in (("input", short.input_facets), ("output", short.output_facets)):
        if facets:
            dataset[f"{side}Facets"] = _facets(facets)
    return dataset


def _facets(facets: dict[str, Any]) -> dict[str, Any]:
    """Return facets with the two keys that the specification requires of each."""
    keys = {"_producer": "https://example.org/truth", "_schemaURL": "https://example.org/schema"}
    return {name: keys | facet for name, facet in facets.items()}
