"""Warnings about events that are accepted although they violate the specification.

A path in a warning is that of the JSON, such as `inputs[0].facets.schema`. `received` and
`expected` are short texts. Functions here must not fail on any value: events may contain anything.
Only what `parse_event` requires is certain: the names of jobs and datasets, the run id and the
time.

Explicit lineage is the facet `lineage`. That of a job has entries, each a target with its inputs
and fields; that of a dataset has inputs and fields.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from headwater.errors import shown
from headwater.events import EventType, Json, kind_of, without_region
from headwater.events.column_lineage import is_name
from headwater.events.facets import PartitionSources, Subset

_TYPES = ", ".join(EventType)
_SPEC_1 = re.compile(r"/spec/[01]-")


class EventWarning(NamedTuple):
    """One violation of the specification: its path, the value received and the expected one."""

    path: str
    received: str
    expected: str


def event_warnings(body: Json) -> Iterator[EventWarning]:
    """Yield the warnings about the decoded body of an event that `parse_event` accepts.

    A warning is a violation of OpenLineage 2-0-2, or a part that is ignored because it cannot be
    parsed. Only facets that lineage is derived from are checked in detail.
    """
    kind = kind_of(body)
    yield from _head(body, kind)
    yield from _lineage(body, kind)
    if kind == "dataset":
        yield from _dataset(body.get("dataset"), "dataset", ())
        return
    if kind == "run":
        yield from _run(body.get("run"))
    yield from _facets(body.get("job"), "job", "facets")
    for name, io_facets in (("inputs", "inputFacets"), ("outputs", "outputFacets")):
        if name in body and body[name] is None:
            yield _warning(name, None, "a list of datasets")
        for index, item in enumerate(body.get(name) or ()):
            yield from _dataset(item, f"{name}[{index}]", (io_facets,))


def _head(body: Json, kind: str) -> Iterator[EventWarning]:
    """Yield the warnings about the parts of an event besides its run, job and datasets."""
    type_ = body.get("eventType")
    if kind == "run" and not (isinstance(type_, str) and type_ in EventType.__members__):
        yield _warning("eventType", type_, f"one of {_TYPES}")
    try:
        has_zone = datetime.fromisoformat(without_region(body["eventTime"])).tzinfo is not None
    except ValueError:
        has_zone = True
    if not has_zone:
        yield _warning("eventTime", body["eventTime"], "a time with a zone; it is treated as UTC")
    for key in ("producer", "schemaURL"):
        yield from _address(body, key, key)
    schema = body.get("schemaURL")
    if isinstance(schema, str) and _SPEC_1.search(schema):
        yield _warning("schemaURL", schema, "OpenLineage 2")


def _run(run: Any) -> Iterator[EventWarning]:
    """Yield the warnings about the run of a run event, with its facets and its parent."""
    try:
        uuid.UUID(run["runId"])
    except ValueError:
        yield _warning("run.runId", run["runId"], "a UUID")
    yield from _facets(run, "run", "facets")
    facets = run.get("facets")
    parent = facets.get("parent") if isinstance(facets, dict) else None
    if isinstance(parent, dict):
        path = "run.facets.parent"
        yield from _texts(parent.get("run"), f"{path}.run", ("runId",))
        yield from _texts(parent.get("job"), f"{path}.job", ("namespace", "name"))


def _dataset(item: Any, path: str, io_facets: tuple[str, ...]) -> Iterator[EventWarning]:
    """Yield the warnings about a dataset.

    `io_facets` are the keys of its facets as an input or output, such as `outputFacets`.
    """
    for key in ("facets", *io_facets):
        yield from _facets(item, path, key)
    if "outputFacets" in io_facets:
        yield from _partition_sources(item.get("outputFacets"), f"{path}.outputFacets")
    facets = item.get("facets")
    symlinks = facets.get("symlinks") if isinstance(facets, dict) else None
    if isinstance(symlinks, dict):
        path = f"{path}.facets.symlinks.identifiers"
        identifiers = symlinks.get("identifiers")
        if not isinstance(identifiers, list):
            yield _warning(path, identifiers, "a list")
            return
        for index, identifier in enumerate(identifiers):
            yield from _texts(identifier, f"{path}[{index}]", ("namespace", "name"))


def _partition_sources(facets: Any, path: str) -> Iterator[EventWarning]:
    """Yield the parts of a facet `headwater_partitionSources` that are ignored."""
    facet = facets.get(PartitionSources.KEY) if isinstance(facets, dict) else None
    if not isinstance(facet, dict):
        return
    path = f"{path}.{PartitionSources.KEY}.partitions"
    partitions = facet.get("partitions")
    if not isinstance(partitions, list):
        yield _warning(path, partitions, "a list of partitions, each with its inputs")
        return
    written = Subset.parse(facets["subset"]).parts if isinstance(facets.get("subset"), dict) else ()
    for index, item in enumerate(partitions):
        stated = PartitionSources.parse({"partitions": [item]}).sources
        if not stated:
            expected = "an identifier or dimensions, and inputs with a namespace and a name"
            yield _warning(f"{path}[{index}]", item, expected)
        elif not stated.keys() <= set(written):
            yield _warning(f"{path}[{index}]", item, "a partition that the facet `subset` lists")


def _lineage(body: Json, kind: str) -> Iterator[EventWarning]:
    """Yield the parts of explicit lineage facets that cannot be parsed.

    They are ignored, or read as the job of the event.
    """
    if kind == "dataset":
        yield from _lineage_of_dataset(_lineage_of(body["dataset"]), "dataset.facets.lineage")
        return
    if facet := _lineage_of(body["job"]):
        entries = facet.get("entries")
        yield from _entries(entries, "job.facets.lineage.entries")
        if not isinstance(entries, list):
            return
    for side in ("inputs", "outputs"):
        for index, item in enumerate(body.get(side) or ()):
            if _lineage_of(item):
                expected = "the lineage facet of the job; this one is not used"
                yield _warning(f"{side}[{index}].facets.lineage", "a lineage facet", expected)


def _entries(entries: Any, path: str) -> Iterator[EventWarning]:
    """Yield the warnings about the entries of explicit lineage of a job."""
    if not isinstance(entries, list):
        yield _warning(path, entries, "a list of entries")
        return
    for index, entry in enumerate(entries):
        yield from _end(entry, f"{path}[{index}]")
        if isinstance(entry, dict):
            yield from _lineage_of_dataset(entry, f"{path}[{index}]")


def _lineage_of(owner: Json) -> Json:
    """Return the lineage facet of a job or dataset; empty if it has none or is no object."""
    facets = owner.get("facets")
    facet = facets.get("lineage") if isinstance(facets, dict) else None
    return facet if isinstance(facet, dict) else {}


def _lineage_of_dataset(facet: Json, path: str) -> Iterator[EventWarning]:
    """Yield the problems in the inputs and fields of an entry or of a dataset's facet."""
    if "entries" in facet:
        expected = "inputs and fields; entries are for jobs"
        yield _warning(f"{path}.entries", "entries", expected)
    yield from _inputs(facet, path)
    fields = facet.get("fields", {})
    if not isinstance(fields, dict):
        yield _warning(f"{path}.fields", fields, "an object")
        return
    for name, field in fields.items():
        if isinstance(field, dict):
            yield from _inputs(field, f"{path}.fields.{name}")
        else:
            yield _warning(f"{path}.fields.{name}", field, "an object")


def _inputs(owner: Json, path: str) -> Iterator[EventWarning]:
    """Yield the warnings about the inputs of an entry, of a field, or of a dataset."""
    inputs = owner.get("inputs", [])
    if not isinstance(inputs, list):
        yield _warning(f"{path}.inputs", inputs, "a list of inputs")
        return
    for index, item in enumerate(inputs):
        yield from _end(item, f"{path}.inputs[{index}]")


def _end(item: Any, path: str) -> Iterator[EventWarning]:
    """Yield the warnings about one end of explicit lineage: a dataset or a job.

    A job without a name is that of the event.
    """
    if not isinstance(item, dict):
        yield _warning(path, item, "an object")
        return
    kind = item.get("type")
    if kind not in ("DATASET", "JOB"):
        yield _warning(f"{path}.type", kind, "DATASET or JOB")
        return
    named = [is_name(item.get(key)) for key in ("namespace", "name")]
    if kind == "DATASET" and not all(named):
        yield _warning(path, item, "a namespace and a name")
    elif any(named) and not all(named):
        yield _warning(path, item, "a namespace and a name, or neither for the event's own job")


def _facets(owner: Any, path: str, key: str) -> Iterator[EventWarning]:
    """Yield the warnings about the facets below a key of a part of an event.

    A missing key has none.
    """
    facets = owner.get(key, {})
    if not isinstance(facets, dict):
        yield _warning(f"{path}.{key}", facets, "an object")
        return
    for name, facet in facets.items():
        where = f"{path}.{key}.{name}"
        if not isinstance(facet, dict):
            yield _warning(where, facet, "an object")
            continue
        for address in ("_producer", "_schemaURL"):
            yield from _address(facet, address, f"{where}.{address}")


def _address(owner: Json, key: str, path: str) -> Iterator[EventWarning]:
    """Yield a warning unless the value of a key is a URI, that is, contains a colon."""
    value = owner.get(key)
    if not (isinstance(value, str) and ":" in value):
        yield _warning(path, value, "a URI")


def _texts(value: Any, path: str, keys: tuple[str, ...]) -> Iterator[EventWarning]:
    """Yield a warning for each key whose value is not a non-empty string."""
    if not isinstance(value, dict):
        yield _warning(path, value, "an object")
        return
    for key in keys:
        if not (isinstance(value.get(key), str) and value[key]):
            yield _warning(f"{path}.{key}", value.get(key), "a non-empty string")


def _warning(path: str, received: object, expected: str) -> EventWarning:
    return EventWarning(path, shown(received), expected)
