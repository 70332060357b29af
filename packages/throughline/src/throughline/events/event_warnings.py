"""Warnings about events that are accepted although they violate the specification."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from throughline.errors import shown
from throughline.events.event import EventType
from throughline.events.lineage_problems import (
    Problem,
    misplaced,
    problems_of_dataset,
    problems_of_job,
)
from throughline.events.parse import kind_of
from throughline.events.times import without_region

_TYPES = ", ".join(EventType)
_SPEC_1 = re.compile(r"/spec/[01]-")


class EventWarning(NamedTuple):
    """One violation of the specification: its path, the value received and the expected one."""

    path: str
    received: str
    expected: str


def event_warnings(body: dict[str, Any]) -> Iterator[EventWarning]:
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


def _head(body: dict[str, Any], kind: str) -> Iterator[EventWarning]:
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
    for key in ("facets", *io_facets):
        yield from _facets(item, path, key)
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


def _lineage(body: dict[str, Any], kind: str) -> Iterator[EventWarning]:
    problems: list[Problem] = []
    if kind == "dataset":
        if facet := _lineage_of(body["dataset"]):
            problems += problems_of_dataset(facet, "dataset.facets.lineage")
    else:
        if facet := _lineage_of(body["job"]):
            problems += problems_of_job(facet, "job.facets.lineage")
        for side in ("inputs", "outputs"):
            for index, item in enumerate(body.get(side) or ()):
                if _lineage_of(item):
                    problems.append(misplaced(f"{side}[{index}].facets.lineage"))
    yield from (_warning(*problem) for problem in problems)


def _lineage_of(owner: dict[str, Any]) -> dict[str, Any]:
    facets = owner.get("facets")
    facet = facets.get("lineage") if isinstance(facets, dict) else None
    return facet if isinstance(facet, dict) else {}


def _facets(owner: Any, path: str, key: str) -> Iterator[EventWarning]:
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


def _address(owner: dict[str, Any], key: str, path: str) -> Iterator[EventWarning]:
    value = owner.get(key)
    if not (isinstance(value, str) and ":" in value):
        yield _warning(path, value, "a URI")


def _texts(value: Any, path: str, keys: tuple[str, ...]) -> Iterator[EventWarning]:
    if not isinstance(value, dict):
        yield _warning(path, value, "an object")
        return
    for key in keys:
        if not (isinstance(value.get(key), str) and value[key]):
            yield _warning(f"{path}.{key}", value.get(key), "a non-empty string")


def _warning(path: str, received: object, expected: str) -> EventWarning:
    return EventWarning(path, shown(received), expected)
