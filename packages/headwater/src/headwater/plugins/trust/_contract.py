"""Lineage as code: compare a contract with the captured lineage.

`examples/contract.yaml` documents every key. A text also matches names that end with it after a
dot, slash or colon; `*` matches any characters.

- captured: the lineage that producers reported; declared: that of the contract
- text: a name in the contract, also the key of a job or dataset
- subject of a finding: the job or dataset that it is about
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, TypeVar

from pydantic import model_validator

from headwater import deadline
from headwater.datasets.replaced_writes import replaced_by_job
from headwater.documents import Document, Text
from headwater.errors import AmbiguousError, ConfigError, NotFoundError
from headwater.events import JobRef
from headwater.graph.column_graph import Column, ColumnGraph
from headwater.graph.current import generations_of, level_of, whole_graph_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, fields_of
from headwater.graph.walk import reached
from headwater.health.findings import finding
from headwater.health.models import Finding
from headwater.identity import DatasetName
from headwater.lookup import find_dataset
from headwater.plugins.trust._column_types import is_same_type
from headwater.projection import State


class JobContract(Document):
    """The declared inputs and outputs of a job."""

    inputs: list[Text] = []
    outputs: list[Text] = []
    columns: dict[Text, dict[Text, list[Text]]] = {}
    """Source columns as `DATASET.FIELD`, by dataset and field."""


class ColumnContract(Document):
    """The declared type of a column, and the datasets that it comes from."""

    type: Text | None = None
    sources: list[Text] | None = None


class DatasetContract(Document):
    """The columns that a dataset has at least."""

    columns: dict[Text, ColumnContract] = {}


class Contract(Document):
    """Declared jobs and datasets; a job that only matches a pattern of `covers` is undeclared."""

    level: Literal["pipeline", "task", "query"] = "task"
    covers: list[Text] = []
    jobs: dict[Text, JobContract] = {}
    datasets: dict[Text, DatasetContract] = {}

    @model_validator(mode="after")
    def _check_level(self) -> Contract:
        for name, job in self.jobs.items():
            if job.columns and self.level != "task":
                raise ValueError(
                    f"jobs.{name}.columns: expected only at the level task, not {self.level}"
                )
        return self


class Named(NamedTuple):
    """All names of a job, dataset or column, the displayed one first."""

    names: Sequence[tuple[str, str]]

    @property
    def text(self) -> str:
        """`NAMESPACE:NAME`."""
        return ":".join(self.names[0])

    def matches(self, text: str) -> bool:
        """Return True if a text of a contract matches one of the names."""
        return any(_matches(text, *name) for name in self.names)


class Captured(NamedTuple):
    """The captured inputs and outputs of a job.

    Datasets have all of their names, so that a contract may use any of them.
    """

    job: Named
    inputs: list[Named]
    outputs: list[Named]


def captured_of(state: State, level: str) -> list[Captured]:
    """Return the inputs and outputs of all jobs at a level.

    An output counts even if another job replaced all rows since: it is what the job wrote.
    """
    chosen = level_of(level)
    graph = whole_graph_of(state, chosen)
    replaced = replaced_by_job(state, graph, chosen)
    return [
        Captured(
            Named([ref]),
            [_names(state, name) for name in sorted(edges.reads)],
            [_names(state, name) for name in sorted(writes)],
        )
        for ref in sorted(graph.jobs.keys() | replaced.keys())
        for edges in (graph.edges_of(ref),)
        for writes in (edges.writes | replaced.get(ref, set()),)
        if edges.reads or writes
    ]


def differences(state: State, contract: Contract, captured: list[Captured]) -> Iterator[Finding]:
    """Yield the differences of the captured lineage from a contract.

    Raises:
        ConfigError: a text matches more than one job or dataset.

    `captured` must be that of the contract's level.
    """
    for text, declared in deadline.watched(contract.jobs.items()):
        actual = _one(text, captured, [job.job for job in captured], "jobs")
        if actual is None:
            yield _missing("job", text, "is declared but was not captured")
        else:
            yield from _job_differences(state, text, declared, actual)
    for actual in deadline.watched(captured):
        is_covered = any(map(actual.job.matches, contract.covers))
        if is_covered and not any(map(actual.job.matches, contract.jobs)):
            yield _unexpected("job", JobRef(*actual.job.names[0]), "is covered but not declared")
    datasets = [_names(state, name) for name in sorted(set(state.identity))]
    for text, dataset in deadline.watched(contract.datasets.items()):
        found = _one(text, datasets, datasets, "datasets")
        if found is None:
            yield _missing("dataset", text, "is declared but was not captured")
        else:
            name = DatasetName(*found.names[0])
            yield from _dataset_differences(state, name, dataset.columns)


def updated(contract: Contract | None, captured: list[Captured]) -> Contract:
    """Return a contract of the captured lineage, with the texts of an old one that still match.

    Without an old contract, it has every job; otherwise, the jobs that the old one lists or covers.

    The old contract itself is not changed.
    """
    jobs = {}
    for actual in deadline.watched(captured):
        texts = [text for text in contract.jobs if actual.job.matches(text)] if contract else []
        if contract and not texts and not any(map(actual.job.matches, contract.covers)):
            continue
        text = texts[0] if texts else actual.job.text
        old = contract.jobs[text] if contract and texts else JobContract()
        jobs[text] = JobContract(
            inputs=_updated_texts(old.inputs, actual.inputs),
            outputs=_updated_texts(old.outputs, actual.outputs),
            columns=old.columns,
        )
    return (contract or Contract()).model_copy(update={"jobs": jobs})


def _job_differences(
    state: State, text: str, declared: JobContract, actual: Captured
) -> Iterator[Finding]:
    """Yield the differences of one job; `text` is its name in the contract.

    Raises ConfigError if a text without `*` matches several inputs or outputs.
    """
    job = JobRef(*actual.job.names[0])
    for what, texts, names in (
        ("input", declared.inputs, actual.inputs),
        ("output", declared.outputs, actual.outputs),
    ):
        for pattern in texts:
            if "*" not in pattern:  # it names one dataset: check that only one matches
                _one(pattern, names, names, f"{what}s of {text}")
        yield from _compared(what, job, texts, names)
    for dataset, columns in declared.columns.items():
        sources = _column_sources(state, dataset, text)
        for column, texts in columns.items():
            prefix = f"{dataset}.{column} < "
            yield from _compared("column", job, texts, sources[column], prefix=prefix)


def _compared(
    what: str,
    subject: JobRef | DatasetName,
    texts: list[str],
    captured: Sequence[Named],
    *,
    optional: Sequence[Named] = (),
    prefix: str = "",
    column: str | None = None,
) -> Iterator[Finding]:
    """Yield the texts that match nothing, and the names that no text matches.

    `optional` names need not be declared.

    `what` is the kind of the names, such as `input`, and `texts` are those of the contract.
    `prefix` begins each message. `column` is the column of the subject that they are about, None if
    none.
    """
    for text in texts:
        if not any(name.matches(text) for name in (*captured, *optional)):
            message = f"{prefix}{text} is declared but was not captured"
            yield _missing(what, subject, message, column)
    for name in captured:
        if not any(map(name.matches, texts)):
            message = f"{prefix}{name.text} was captured but is not declared"
            yield _unexpected(what, subject, message, column)


def _column_sources(state: State, dataset: str, job: str) -> dict[str, list[Named]]:
    """Return, by column of a dataset, the columns that a job computes its values from.

    Empty for an unknown dataset. Raises ConfigError if several datasets have the name.
    """
    found: defaultdict[str, list[Named]] = defaultdict(list)
    try:
        name = find_dataset(state, dataset).dataset_name
    except AmbiguousError as error:
        raise ConfigError(f"columns of {job}: {error}") from error
    except NotFoundError:
        return found
    graph = _columns_into(state, name)  # also of the datasets upstream; only one step is used
    for column in sorted(graph.columns(name, "up", indirect=False)):
        sources = {  # of this job: others may write the dataset as well
            edge.source
            for edge in graph.inputs(Column(name, column), indirect=False)
            if Named([edge.job]).matches(job)
        }
        found[column] = [
            Named([(origin.namespace, f"{origin.name}.{field}")])
            for origin, field in sorted(sources)
        ]
    return found


def _dataset_differences(
    state: State, name: DatasetName, columns: dict[str, ColumnContract]
) -> Iterator[Finding]:
    """Yield the differences of the columns of a dataset: missing ones, types and sources.

    Declared sources must have each dataset whose values the column has. Datasets that only decide
    the rows, as in a filter or join, may be declared, but need not be.
    """
    reported = fields_of(state, Node.of_dataset(name))
    fields = {path: field.type for path, field in reported.items()}
    if columns and not fields:
        yield _missing("schema", name, "has declared columns but its schema was not reported")
        return
    graph = _columns_into(state, name)
    for column, declared in columns.items():
        if column not in fields:
            yield _missing("column", name, "is declared but was not captured", column)
            continue
        if declared.type and not is_same_type(declared.type, fields[column]):
            message = f"has the type {fields[column]}, declared is {declared.type}"
            yield finding("type", name, message, _CORRECT, column=column)
        if declared.sources is not None:
            edges = graph.inputs(Column(name, column), indirect=True)
            direct = {edge.source.dataset for edge in edges if edge.is_direct}
            others = {edge.source.dataset for edge in edges} - direct
            yield from _compared(
                "source",
                name,
                declared.sources,
                [_names(state, source) for source in sorted(direct)],
                optional=[_names(state, source) for source in others],
                column=column,
            )


_CORRECT = "correct the job or the contract"


def _missing(
    what: str, subject: str | JobRef | DatasetName, message: str, column: str | None = None
) -> Finding:
    return finding(f"missing {what}", subject, message, _CORRECT, column=column)


def _unexpected(
    what: str, subject: JobRef | DatasetName, message: str, column: str | None = None
) -> Finding:
    remedy = "declare it in the contract, or correct the job"
    return finding(f"unexpected {what}", subject, message, remedy, column=column)


T = TypeVar("T")


def _one(text: str, items: Sequence[T], names: Sequence[Named], what: str) -> T | None:
    """Return the item whose name matches a text; None if there is none.

    `names` are the names of `items`, in the same order. Raises ConfigError if several match; `what`
    is the place in the contract.
    """
    matching = [index for index, name in enumerate(names) if name.matches(text)]
    if len(matching) > 1:
        texts = ", ".join(names[index].text for index in matching)
        raise ConfigError(f"{what}: {text!r} matches {texts}; give the full name of one")
    return items[matching[0]] if matching else None


def _updated_texts(texts: Iterable[str], captured: list[Named]) -> list[str]:
    """Return the texts that match a captured name, then the names that no text matches."""
    kept = [text for text in texts if any(name.matches(text) for name in captured)]
    new = [name.text for name in captured if not any(map(name.matches, kept))]
    return [*kept, *sorted(new)]


def _matches(text: str, namespace: str, name: str) -> bool:
    """Return True if a text of a contract is a name, a pattern of it, or its last parts.

    `zones`, `s.zones`, `db*` and `postgres://h:5432:db.s.zones` all match `db.s.zones` there.
    """
    whole = f"{namespace}:{name}"
    if "*" in text:
        return fnmatchcase(whole, text) or fnmatchcase(name, text)
    is_end = name.endswith(text) and name[-len(text) - 1 : -len(text)] in ("/", ".", ":")
    return text in (whole, name) or is_end


def _names(state: State, name: DatasetName) -> Named:
    return Named([name, *sorted(set(state.identity.names(name)) - {name})])


def _columns_into(state: State, name: DatasetName) -> ColumnGraph:
    generations = generations_of(state)
    return ColumnGraph.of(
        generations, reached(generations, Node.of_dataset(name), "up", Level.TASK)
    )
