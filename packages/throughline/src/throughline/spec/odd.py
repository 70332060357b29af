"""What is odd about an event that was taken: read from its text alone, whenever somebody asks."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from throughline.errors import shown
from throughline.spec.event import EventType
from throughline.spec.odd_lineage import (
    Problem,
    misplaced,
    problems_of_dataset,
    problems_of_job,
)
from throughline.spec.parse import kind_of
from throughline.spec.times import without_region

_TYPES = ", ".join(EventType)
_SPEC_1 = re.compile(r"/spec/[01]-")


class Oddity(NamedTuple):
    """One thing that OpenLineage wants otherwise: where it is, what it is, what was expected."""

    path: str
    received: str
    expected: str


def oddities(body: dict[str, Any]) -> Iterator[Oddity]:
    """What is odd about the decoded body of an event that `parse_event` takes.

    Either OpenLineage 2-0-2 requires it otherwise, or it was passed over because it cannot be
    understood. The contents of facets are looked at only where lineage is made of them.
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
    for name, own in (("inputs", "inputFacets"), ("outputs", "outputFacets")):
        if name in body and body[name] is None:
            yield _oddity(name, None, "a list of datasets")
        for index, item in enumerate(body.get(name) or ()):
            yield from _dataset(item, f"{name}[{index}]", (own,))


def _head(body: dict[str, Any], kind: str) -> Iterator[Oddity]:
    type_ = body.get("eventType")
    if kind == "run" and not (isinstance(type_, str) and type_ in EventType.__members__):
        yield _oddity("eventType", type_, f"one of {_TYPES}")
    try:
        has_zone = datetime.fromisoformat(without_region(body["eventTime"])).tzinfo is not None
    except ValueError:
        has_zone = True
    if not has_zone:
        yield _oddity("eventTime", body["eventTime"], "a time with its zone; it is taken as UTC")
    for key in ("producer", "schemaURL"):
        yield from _address(body, key, key)
    schema = body.get("schemaURL")
    if isinstance(schema, str) and _SPEC_1.search(schema):
        yield _oddity("schemaURL", schema, "OpenLineage 2")


def _run(run: Any) -> Iterator[Oddity]:
    try:
        uuid.UUID(run["runId"])
    except ValueError:
        yield _oddity("run.runId", run["runId"], "a UUID")
    yield from _facets(run, "run", "facets")
    facets = run.get("facets")
    parent = facets.get("parent") if isinstance(facets, dict) else None
    if isinstance(parent, dict):
        path = "run.facets.parent"
        yield from _texts(parent.get("run"), f"{path}.run", ("runId",))
        yield from _texts(parent.get("job"), f"{path}.job", ("namespace", "name"))


def _dataset(item: Any, path: str, own: tuple[str, ...]) -> Iterator[Oddity]:
    for key in ("facets", *own):
        yield from _facets(item, path, key)
    facets = item.get("facets")
    symlinks = facets.get("symlinks") if isinstance(facets, dict) else None
    if isinstance(symlinks, dict):
        path = f"{path}.facets.symlinks.identifiers"
        identifiers = symlinks.get("identifiers")
        if not isinstance(identifiers, list):
            yield _oddity(path, identifiers, "a list")
            return
        for index, each in enumerate(identifiers):
            yield from _texts(each, f"{path}[{index}]", ("namespace", "name"))


def _lineage(body: dict[str, Any], kind: str) -> Iterator[Oddity]:
    found: list[Problem] = []
    if kind == "dataset":
        if facet := _lineage_of(body["dataset"]):
            found += problems_of_dataset(facet, "dataset.facets.lineage")
    else:
        if facet := _lineage_of(body["job"]):
            found += problems_of_job(facet, "job.facets.lineage")
        for side in ("inputs", "outputs"):
            for index, item in enumerate(body.get(side) or ()):
                if _lineage_of(item):
                    found.append(misplaced(f"{side}[{index}].facets.lineage"))
    yield from (_oddity(*problem) for problem in found)


def _lineage_of(owner: dict[str, Any]) -> dict[str, Any]:
    facets = owner.get("facets")
    facet = facets.get("lineage") if isinstance(facets, dict) else None
    return facet if isinstance(facet, dict) else {}


def _facets(owner: Any, path: str, key: str) -> Iterator[Oddity]:
    facets = owner.get(key, {})
    if not isinstance(facets, dict):
        yield _oddity(f"{path}.{key}", facets, "an object")
        return
    for name, facet in facets.items():
        where = f"{path}.{key}.{name}"
        if not isinstance(facet, dict):
            yield _oddity(where, facet, "an object")
            continue
        for address in ("_producer", "_schemaURL"):
            yield from _address(facet, address, f"{where}.{address}")


def _address(owner: dict[str, Any], key: str, path: str) -> Iterator[Oddity]:
    value = owner.get(key)
    if not (isinstance(value, str) and ":" in value):
        yield _oddity(path, value, "a URI")


def _texts(value: Any, path: str, keys: tuple[str, ...]) -> Iterator[Oddity]:
    if not isinstance(value, dict):
        yield _oddity(path, value, "an object")
        return
    for key in keys:
        if not (isinstance(value.get(key), str) and value[key]):
            yield _oddity(f"{path}.{key}", value.get(key), "a text that is not empty")


def _oddity(path: str, received: object, expected: str) -> Oddity:
    return Oddity(path, shown(received), expected)
