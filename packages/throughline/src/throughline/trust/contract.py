"""Lineage as code: compare the declared inputs and outputs of jobs with the captured ones.

`examples/contract.yaml` documents every key. The captured lineage is the answer of the query
`edges`. A text also matches names that end with it after a dot, slash or colon; `*` matches any
characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from throughline.errors import ConfigError, shown

_LEVELS = ("pipeline", "task", "query")
_SIDES = {"reads": "inputs", "writes": "outputs"}
_SINGULAR = {"inputs": "input", "outputs": "output"}


class Named(NamedTuple):
    """All names of a job or dataset, the displayed one first."""

    names: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """`NAMESPACE:NAME`."""
        return ":".join(self.names[0])

    def matches(self, text: str) -> bool:
        """Return True if a text of a contract matches one of the names."""
        return any(_matches(text, *name) for name in self.names)


@dataclass(frozen=True, slots=True)
class Job:
    """The declared inputs and outputs of a job."""

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    columns: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """Source columns as `DATASET.FIELD`, by dataset and field."""


@dataclass(frozen=True, slots=True)
class Contract:
    """Declared jobs; any other job that matches a pattern of `covers` is unexpected."""

    jobs: dict[str, Job]
    covers: tuple[str, ...] = ()
    level: str = "task"

    def to_dict(self) -> dict[str, Any]:
        """Return the contract in the form that `contract_of` accepts."""
        jobs: dict[str, dict[str, Any]] = {}
        for text, job in self.jobs.items():
            sides = {side: list(texts) for side in _SINGULAR if (texts := getattr(job, side))}
            jobs[text] = sides | ({"columns": _listed(job.columns)} if job.columns else {})
        covers = {"covers": list(self.covers)} if self.covers else {}
        return {"level": self.level, **covers, "jobs": jobs}


@dataclass(slots=True)
class Captured:
    """The captured inputs and outputs of a job."""

    job: Named
    inputs: list[Named] = field(default_factory=list)
    outputs: list[Named] = field(default_factory=list)


def contract_of(body: Any) -> Contract:
    """Return the contract of a decoded file.

    Raises:
        ConfigError: a key or a value is invalid.
    """
    whole = _object(body, "contract", ("level", "covers", "jobs"))
    level = whole.get("level", "task")
    if level not in _LEVELS:
        raise ConfigError(f"level: received {shown(level)}, expected one of {', '.join(_LEVELS)}")
    jobs = {}
    for name, value in _object(whole.get("jobs"), "jobs").items():
        job = _object(value or {}, f"jobs.{name}", ("inputs", "outputs", "columns"))
        jobs[name] = Job(
            _texts(job.get("inputs"), f"jobs.{name}.inputs"),
            _texts(job.get("outputs"), f"jobs.{name}.outputs"),
            _columns(job.get("columns"), f"jobs.{name}.columns"),
        )
        if jobs[name].columns and level != "task":
            raise ConfigError(f"jobs.{name}.columns: expected only at the level task, not {level}")
    return Contract(jobs, _texts(whole.get("covers"), "covers"), level)


def captured_of(edges: Iterable[dict[str, Any]]) -> list[Captured]:
    """Return the answer of the query `edges` by job."""
    found: dict[tuple[str, str], Captured] = {}
    for edge in edges:
        name = _pair(edge["job"])
        job = found.setdefault(name, Captured(Named((name,))))
        dataset = edge["dataset"]
        names = Named((_pair(dataset), *map(_pair, dataset["aliases"])))
        getattr(job, _SIDES[edge["direction"]]).append(names)
    return [found[name] for name in sorted(found)]


def differences(contract: Contract, captured: list[Captured]) -> Iterator[dict[str, str]]:
    """Yield the differences of the captured lineage from a contract.

    A difference has its `kind` (missing, unexpected), `what` differs (job, input, output, column),
    the `job` and the `name`.

    Raises:
        ConfigError: a text matches more than one job, or more than one dataset of a job.
    """
    for text, declared in contract.jobs.items():
        actual = _one(text, [job for job in captured if job.job.matches(text)], "jobs")
        if actual is None:
            yield _difference("missing", "job", text, text)
            continue
        for side, what in _SINGULAR.items():
            for pattern in getattr(declared, side):
                matching = [name for name in getattr(actual, side) if name.matches(pattern)]
                if "*" not in pattern:
                    _one(pattern, matching, f"{side} of {text}")
            for kind, name in _compared(getattr(declared, side), getattr(actual, side)):
                yield _difference(kind, what, text, name)
    for actual in captured:
        covered = any(actual.job.matches(pattern) for pattern in contract.covers)
        if covered and not any(actual.job.matches(text) for text in contract.jobs):
            yield _difference("unexpected", "job", actual.job.text, actual.job.text)


def updated(contract: Contract | None, captured: list[Captured]) -> Contract:
    """Return a contract of the captured lineage, with the texts of an old one that still match.

    Without an old contract it has every job, otherwise the jobs that the old one lists or covers.
    """
    jobs = {}
    for actual in captured:
        texts = [text for text in contract.jobs if actual.job.matches(text)] if contract else []
        if contract and not texts and not any(map(actual.job.matches, contract.covers)):
            continue
        text = texts[0] if texts else actual.job.text
        old = contract.jobs[text] if contract and texts else Job()
        inputs = _updated_texts(old.inputs, actual.inputs)
        outputs = _updated_texts(old.outputs, actual.outputs)
        jobs[text] = Job(inputs, outputs, old.columns)
    if contract is None:
        return Contract(jobs)
    return Contract(jobs, contract.covers, contract.level)


def column_differences(
    job: str, dataset: str, declared: dict[str, tuple[str, ...]], captured: dict[str, list[Named]]
) -> Iterator[dict[str, str]]:
    """Yield the differences of a dataset's columns; `captured` has the sources of each field."""
    for name, texts in declared.items():
        for kind, column in _compared(texts, captured.get(name, [])):
            yield _difference(kind, "column", job, f"{dataset}.{name} < {column}")


def _compared(texts: tuple[str, ...], captured: list[Named]) -> Iterator[tuple[str, str]]:
    """Yield the texts that match nothing, and the names that no text matches."""
    yield from (
        ("missing", text) for text in texts if not any(name.matches(text) for name in captured)
    )
    for name in captured:
        if not any(name.matches(text) for text in texts):
            yield "unexpected", name.text


def _difference(kind: str, what: str, job: str, name: str) -> dict[str, str]:
    return {"kind": kind, "what": what, "job": job, "name": name}


def _one(text: str, matching: list[Any], what: str) -> Any:
    if len(matching) > 1:
        texts = [match.text if isinstance(match, Named) else match.job.text for match in matching]
        raise ConfigError(f"{what}: {text!r} matches {', '.join(texts)}; give the full name of one")
    return matching[0] if matching else None


def _updated_texts(texts: Iterable[str], captured: list[Named]) -> tuple[str, ...]:
    kept = [text for text in texts if any(name.matches(text) for name in captured)]
    new = [name.text for name in captured if not any(name.matches(text) for text in kept)]
    return (*kept, *sorted(new))


def _matches(text: str, namespace: str, name: str) -> bool:
    whole = f"{namespace}:{name}"
    if "*" in text:
        return fnmatchcase(whole, text) or fnmatchcase(name, text)
    is_end = name.endswith(text) and name[-len(text) - 1 : -len(text)] in ("/", ".", ":")
    return text in (whole, name) or is_end


def _pair(name: dict[str, Any]) -> tuple[str, str]:
    return name["namespace"], name["name"]


def _listed(columns: dict[str, dict[str, tuple[str, ...]]]) -> dict[str, dict[str, list[str]]]:
    return {
        name: {field: list(sources) for field, sources in fields.items()}
        for name, fields in columns.items()
    }


def _columns(value: Any, path: str) -> dict[str, dict[str, tuple[str, ...]]]:
    return {
        name: {
            field: _texts(sources, f"{path}.{name}.{field}")
            for field, sources in _object(fields or {}, f"{path}.{name}").items()
        }
        for name, fields in _object(value or {}, path).items()
    }


def _object(value: Any, path: str, allowed: tuple[str, ...] | None = None) -> dict[str, Any]:
    listed = ", ".join(allowed or ("names",))
    if not isinstance(value, dict) or not all(isinstance(key, str) and key for key in value):
        raise ConfigError(f"{path}: received {shown(value)}, expected an object with {listed}")
    for key in value:
        if allowed and key not in allowed:
            raise ConfigError(f"{path}: received the key {key!r}, expected only {listed}")
    return value


def _texts(value: Any, path: str) -> tuple[str, ...]:
    listed = [] if value is None else value
    if isinstance(listed, list) and all(isinstance(text, str) and text for text in listed):
        return tuple(listed)
    raise ConfigError(f"{path}: received {shown(value)}, expected a list of names")
