"""Problems of explicit lineage facets: the parts that cannot be parsed and are ignored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from throughline.events.column_lineage import is_name


class Problem(NamedTuple):
    """A path within the event, the value received and the expected one."""

    path: str
    received: object
    expected: str


def problems_of_job(facet: dict[str, Any], path: str) -> Iterator[Problem]:
    """Yield the problems of a job's facet."""
    entries = facet.get("entries")
    if not isinstance(entries, list):
        yield Problem(f"{path}.entries", entries, "a list of entries")
        return
    for index, entry in enumerate(entries):
        at = f"{path}.entries[{index}]"
        yield from _end(entry, at)
        if isinstance(entry, dict):
            yield from problems_of_dataset(entry, at)


def problems_of_dataset(facet: dict[str, Any], path: str) -> Iterator[Problem]:
    """Yield the problems in the inputs and fields of an entry or of a dataset's facet."""
    if "entries" in facet:
        yield Problem(f"{path}.entries", "entries", "inputs and fields; entries are for jobs")
    yield from _inputs(facet, path)
    fields = facet.get("fields", {})
    if not isinstance(fields, dict):
        yield Problem(f"{path}.fields", fields, "an object")
        return
    for name, field in fields.items():
        at = f"{path}.fields.{name}"
        if isinstance(field, dict):
            yield from _inputs(field, at)
        else:
            yield Problem(at, field, "an object")


def misplaced(path: str) -> Problem:
    """Return the problem of a dataset's facet outside a DatasetEvent."""
    return Problem(path, "a lineage facet", "the lineage facet of the job; this one is not used")


def _inputs(owner: dict[str, Any], path: str) -> Iterator[Problem]:
    inputs = owner.get("inputs", [])
    if not isinstance(inputs, list):
        yield Problem(f"{path}.inputs", inputs, "a list of inputs")
        return
    for index, item in enumerate(inputs):
        yield from _end(item, f"{path}.inputs[{index}]")


def _end(item: Any, path: str) -> Iterator[Problem]:
    if not isinstance(item, dict):
        yield Problem(path, item, "an object")
        return
    kind = item.get("type")
    if kind not in ("DATASET", "JOB"):
        yield Problem(f"{path}.type", kind, "DATASET or JOB")
        return
    named = [is_name(item.get(key)) for key in ("namespace", "name")]
    if kind == "DATASET" and not all(named):
        yield Problem(path, item, "a namespace and a name")
    elif any(named) and not all(named):
        yield Problem(path, item, "a namespace and a name, or neither for the event's own job")
