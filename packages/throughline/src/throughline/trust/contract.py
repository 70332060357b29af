"""Lineage as code: what jobs are declared to read and write, against what was captured.

`examples/contract.yaml` has every key with its meaning. What was captured is the answer to the
question `edges`; names go by what follows a dot, slash or colon too, and `*` stands for anything.
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
    """A job or a dataset by all its names, the shown one first."""

    names: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """`NAMESPACE:NAME`."""
        return ":".join(self.names[0])

    def fits(self, text: str) -> bool:
        """Whether a text of a contract means it."""
        return any(_fits(text, *name) for name in self.names)


@dataclass(frozen=True, slots=True)
class Job:
    """What a job reads and writes: as texts in a contract."""

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    columns: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """By dataset and field the columns that it is made of, as `DATASET.FIELD`."""


@dataclass(frozen=True, slots=True)
class Contract:
    """Jobs by their texts; of the jobs that fit a pattern of `covers`, no others may be there."""

    jobs: dict[str, Job]
    covers: tuple[str, ...] = ()
    level: str = "task"

    def plain(self) -> dict[str, Any]:
        """The contract as YAML has it, which `contract_of` takes."""
        jobs: dict[str, dict[str, Any]] = {}
        for text, job in self.jobs.items():
            sides = {side: list(texts) for side in _SINGULAR if (texts := getattr(job, side))}
            jobs[text] = sides | ({"columns": _listed(job.columns)} if job.columns else {})
        covers = {"covers": list(self.covers)} if self.covers else {}
        return {"level": self.level, **covers, "jobs": jobs}


@dataclass(slots=True)
class Captured:
    """What one job was seen to read and write."""

    job: Named
    inputs: list[Named] = field(default_factory=list)
    outputs: list[Named] = field(default_factory=list)


def contract_of(body: Any) -> Contract:
    """The contract of a decoded file.

    Raises:
        ConfigError: naming the key, what was received and what is allowed.
    """
    whole = _object(body, "contract", ("level", "covers", "jobs"))
    level = whole.get("level", "task")
    if level not in _LEVELS:
        raise ConfigError(f"level: received {shown(level)}, expected one of {', '.join(_LEVELS)}")
    jobs = {}
    for name, told in _object(whole.get("jobs"), "jobs").items():
        job = _object(told or {}, f"jobs.{name}", ("inputs", "outputs", "columns"))
        jobs[name] = Job(
            _texts(job.get("inputs"), f"jobs.{name}.inputs"),
            _texts(job.get("outputs"), f"jobs.{name}.outputs"),
            _columns(job.get("columns"), f"jobs.{name}.columns"),
        )
        if jobs[name].columns and level != "task":
            raise ConfigError(f"jobs.{name}.columns: expected only at the level task, not {level}")
    return Contract(jobs, _texts(whole.get("covers"), "covers"), level)


def captured_of(edges: Iterable[dict[str, Any]]) -> list[Captured]:
    """What the answer to the question `edges` says, by job."""
    found: dict[tuple[str, str], Captured] = {}
    for edge in edges:
        name = _pair(edge["job"])
        job = found.setdefault(name, Captured(Named((name,))))
        dataset = edge["dataset"]
        names = Named((_pair(dataset), *map(_pair, dataset["aliases"])))
        getattr(job, _SIDES[edge["direction"]]).append(names)
    return [found[name] for name in sorted(found)]


def differences(contract: Contract, captured: list[Captured]) -> Iterator[dict[str, str]]:
    """What is missing of what the contract declares, and what is there beyond it.

    Each has its `kind` (missing, unexpected), `what` it is of (job, input, output, column), the
    `job` and the `name`.

    Raises:
        ConfigError: a text means more than one job, or more than one dataset of a job.
    """
    for text, declared in contract.jobs.items():
        did = _one(text, [each for each in captured if each.job.fits(text)], "jobs")
        if did is None:
            yield _difference("missing", "job", text, text)
            continue
        for side, what in _SINGULAR.items():
            for each in getattr(declared, side):
                fitting = [name for name in getattr(did, side) if name.fits(each)]
                if "*" not in each:
                    _one(each, fitting, f"{side} of {text}")
            for kind, name in _compared(getattr(declared, side), getattr(did, side)):
                yield _difference(kind, what, text, name)
    for did in captured:
        covered = any(did.job.fits(pattern) for pattern in contract.covers)
        if covered and not any(did.job.fits(text) for text in contract.jobs):
            yield _difference("unexpected", "job", did.job.text, did.job.text)


def rewritten(contract: Contract | None, captured: list[Captured]) -> Contract:
    """A contract of what is there, in the words of an old one where they still fit.

    Without an old one it has every job; with one, the jobs of it and those that it covers.
    """
    jobs = {}
    for did in captured:
        known = [text for text in contract.jobs if did.job.fits(text)] if contract else []
        if contract and not known and not any(did.job.fits(each) for each in contract.covers):
            continue
        text = known[0] if known else did.job.text
        old = contract.jobs[text] if contract and known else Job()
        inputs, outputs = _worded(old.inputs, did.inputs), _worded(old.outputs, did.outputs)
        jobs[text] = Job(inputs, outputs, old.columns)
    if contract is None:
        return Contract(jobs)
    return Contract(jobs, contract.covers, contract.level)


def column_differences(
    job: str, dataset: str, declared: dict[str, tuple[str, ...]], seen: dict[str, list[Named]]
) -> Iterator[dict[str, str]]:
    """The same of the columns of a dataset; `seen` has those that each field is made of."""
    for name, texts in declared.items():
        for kind, column in _compared(texts, seen.get(name, [])):
            yield _difference(kind, "column", job, f"{dataset}.{name} < {column}")


def _compared(texts: tuple[str, ...], seen: list[Named]) -> Iterator[tuple[str, str]]:
    """Which of the texts nothing fits, and what is there that fits none of them."""
    yield from (("missing", text) for text in texts if not any(n.fits(text) for n in seen))
    for name in seen:
        if not any(name.fits(text) for text in texts):
            yield "unexpected", name.text


def _difference(kind: str, what: str, job: str, name: str) -> dict[str, str]:
    return {"kind": kind, "what": what, "job": job, "name": name}


def _one(text: str, fitting: list[Any], what: str) -> Any:
    if len(fitting) > 1:
        texts = [each.text if isinstance(each, Named) else each.job.text for each in fitting]
        raise ConfigError(f"{what}: {text!r} means {', '.join(texts)}; give the whole name of one")
    return fitting[0] if fitting else None


def _worded(texts: Iterable[str], seen: list[Named]) -> tuple[str, ...]:
    kept = [text for text in texts if any(name.fits(text) for name in seen)]
    new = [name.text for name in seen if not any(name.fits(text) for text in kept)]
    return (*kept, *sorted(new))


def _fits(text: str, namespace: str, name: str) -> bool:
    whole = f"{namespace}:{name}"
    if "*" in text:
        return fnmatchcase(whole, text) or fnmatchcase(name, text)
    is_end = name.endswith(text) and name[-len(text) - 1 : -len(text)] in ("/", ".", ":")
    return text in (whole, name) or is_end


def _pair(told: dict[str, Any]) -> tuple[str, str]:
    return told["namespace"], told["name"]


def _listed(columns: dict[str, dict[str, tuple[str, ...]]]) -> dict[str, dict[str, list[str]]]:
    return {name: {key: list(of) for key, of in made.items()} for name, made in columns.items()}


def _columns(value: Any, path: str) -> dict[str, dict[str, tuple[str, ...]]]:
    return {
        name: {
            key: _texts(of, f"{path}.{name}.{key}")
            for key, of in _object(made or {}, f"{path}.{name}").items()
        }
        for name, made in _object(value or {}, path).items()
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
    if isinstance(listed, list) and all(isinstance(each, str) and each for each in listed):
        return tuple(listed)
    raise ConfigError(f"{path}: received {shown(value)}, expected a list of names")
