"""Read the entities in a file of DataHub's file sink: metadata change proposals and events.

The file sink writes the aspects of entities as JSON, with decoded aspects or, with
`legacy_nested_json_string`, as text (`datahub.ingestion.sink.file`). Older sources write snapshots
with several aspects.

An entity is a node of DataHub with a URN as its id. An aspect is a part of its metadata, such as
`schemaMetadata`. A proposal sets one aspect of one entity.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from headwater.errors import ConfigError, shown
from headwater.events.column_lineage import objects
from headwater.unzip import open_unzipped

log = logging.getLogger(__name__)

Aspect = dict[str, Any]
"""An aspect of an entity as JSON."""

_DATASET = re.compile(r"urn:li:dataset:\(urn:li:dataPlatform:([^,]+),(.+),([^,]+)\)")
_FLOW = re.compile(r"urn:li:dataFlow:\(([^,]+),(.+),([^,]+)\)")
_JOB = re.compile(r"urn:li:dataJob:\((urn:li:dataFlow:\(.+\)),([^)]+)\)")
_FIELD = re.compile(r"urn:li:schemaField:\((urn:li:dataset:\(.+\)),([^)]+)\)")
_TOKEN = re.compile(r"\[(?:version|type|key)=[^\]]*\]\.?")
_ENCODED = {"%2C": ",", "%28": "(", "%29": ")"}
_EVENTS = "dataProcessInstanceRunEvent"
_PATCH = "PATCH"
_LISTS = {"schemaMetadata": "fields", "upstreamLineage": "upstreams", "ownership": "owners"}
"""The lists in the aspects from which tables, edges and owners come."""


@dataclass(slots=True)
class Entity:
    """The aspects of an entity by name; the newest of each, and all events of a run."""

    urn: str
    aspects: dict[str, Aspect] = field(default_factory=dict)
    run_events: list[Aspect] = field(default_factory=list)
    observed: int = 0
    """When an aspect was last observed, in milliseconds; 0 if it is unknown."""

    @property
    def is_removed(self) -> bool:
        """True if DataHub hides the entity."""
        return bool(self.aspects.get("status", {}).get("removed"))

    def get(self, aspect: str) -> Aspect:
        """Return an aspect; empty if the file does not have it."""
        return self.aspects.get(aspect, {})


def entities_of(path: Path) -> dict[str, Entity]:
    """Return the entities of a file by URN. Raises ConfigError if it is no export of DataHub.

    Proposals that cannot be read are ignored, with a warning.

    Later proposals replace earlier ones; a patch adds to the aspect.
    """
    try:
        with open_unzipped(path) as file:
            read: Any = orjson.loads(file.read())
        records = read if isinstance(read, list) else [read]
        aspects = [(record, aspect) for record in objects(records) for aspect in _aspects(record)]
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    found: dict[str, Entity] = {}
    for record, (urn, name, content, observed) in aspects:
        entity = found.setdefault(urn, Entity(urn))
        entity.observed = max(entity.observed, observed)
        if record.get("changeType") == _PATCH:
            _patch(entity.aspects.setdefault(name, {}), content)
        elif not isinstance(content, dict):
            continue
        elif name == _EVENTS:
            entity.run_events.append(content)
        else:
            entity.aspects[name] = content
    if not found:
        raise ConfigError(
            f"{path}: found no metadata change proposals, expected a file that `datahub ingest`"
            " wrote with `sink: {type: file}`"
        )
    problems = [(n, problem) for n, item in enumerate(records) if (problem := _problem(item))]
    if problems:
        number, problem = problems[0]
        log.warning(
            "%s: ignored %s of %s proposals; the first is item %s: %s",
            *(path, len(problems), len(records), number, problem),
        )
    return found


def _problem(item: Any) -> str | None:
    """Return why a proposal, or a part of it, is ignored; None if it can be read."""
    if not isinstance(item, dict):
        return f"received {shown(item)}, expected an object"
    if item.get("changeType") == "DELETE":
        return None
    aspects = list(_aspects(item))
    if not aspects:
        return "expected entityUrn, aspectName and aspect, or a proposedSnapshot"
    for urn, name, content, _ in aspects:
        if urn.startswith("urn:li:dataset:") and dataset_of(urn) is None:
            return f"received the URN {shown(urn)}, expected a platform, a name and an environment"
        key = _LISTS.get(name)
        value = content.get(key, []) if isinstance(content, dict) else content
        if item.get("changeType") != _PATCH and key and not isinstance(value, list):
            return f"{name}.{key}: received {shown(value)}, expected a list"
    return None


def _aspects(record: Aspect) -> Iterator[tuple[str, str, Any, int]]:
    """Yield the URN, the name and the content of each aspect, with the time in milliseconds."""
    seen = record.get("systemMetadata") or {}
    observed = seen.get("lastObserved") if isinstance(seen, dict) else 0
    at = observed if isinstance(observed, int) else 0
    urn, name, aspect = (record.get(key) for key in ("entityUrn", "aspectName", "aspect"))
    if isinstance(urn, str) and isinstance(name, str) and isinstance(aspect, dict):
        if record.get("changeType") != "DELETE":
            text = aspect.get("value")
            yield urn, name, orjson.loads(text) if isinstance(text, str) else aspect.get("json"), at
        return
    for snapshot in objects(list((record.get("proposedSnapshot") or {}).values())):
        for item in objects(snapshot.get("aspects")):
            for type_, content in item.items():
                kind = type_.rpartition(".")[2]
                yield str(snapshot.get("urn")), kind[:1].lower() + kind[1:], content, at


def _patch(aspect: Aspect, patch: Any) -> None:
    """Apply a JSON patch (RFC 6902) whose paths address items of lists by their URNs.

    DataHub's sources send lineage like this by default, so that they do not replace what others
    reported (`datahub.specific`). Only additions occur in exports.

    The aspect is changed in place. Operations other than add and replace are ignored.
    """
    for operation in objects(patch.get("patch") if isinstance(patch, dict) else patch):
        # `/upstreams/URN` adds an item to the list `upstreams`; RFC 6901 escapes / as ~1
        key, *keys = str(operation.get("path")).removeprefix("/").split("/")
        keys = [part.replace("~1", "/").replace("~0", "~") for part in keys]
        value = operation.get("value")
        if operation.get("op") not in ("add", "replace"):
            continue
        if key == "fineGrainedLineages" and len(keys) == 4:  # kind/TARGET/query/SOURCE
            _, below, _, above = keys
            value = {"downstreams": [below], "upstreams": [above]}
        if not keys:
            aspect[key] = value
        elif isinstance(aspect.setdefault(key, []), list):
            aspect[key].append(value)


def dataset_of(urn: object) -> tuple[str, str, str] | None:
    """Return the platform, the name and the environment in the URN of a dataset."""
    match = _DATASET.fullmatch(str(urn))
    return (match[1], decoded(match[2]), match[3]) if match else None


def flow_of(urn: object) -> tuple[str, str, str] | None:
    """Return the orchestrator, the id and the cluster in the URN of a flow."""
    match = _FLOW.fullmatch(str(urn))
    return (match[1], decoded(match[2]), match[3]) if match else None


def job_of(urn: object) -> tuple[str, str] | None:
    """Return the URN of the flow and the id of the job in the URN of a job."""
    match = _JOB.fullmatch(str(urn))
    return (match[1], decoded(match[2])) if match else None


def field_of(urn: object) -> tuple[str, str] | None:
    """Return the URN of the dataset and the column in the URN of a field."""
    match = _FIELD.fullmatch(str(urn))
    return (match[1], column_of(decoded(match[2]))) if match else None


def column_of(path: str) -> str:
    """Return the column of a field path: DataHub's version 2 has types in it, in brackets."""
    return _TOKEN.sub("", path)


def decoded(text: str) -> str:
    """Return a part of a URN with the characters that URNs encode."""
    for code, char in _ENCODED.items():
        text = text.replace(code, char)
    return text


def last_part(urn: object) -> str:
    """Return the name in the URN of a user, a group, a tag or a term."""
    return decoded(str(urn).removeprefix("urn:li:").partition(":")[2])


def edges_of(aspect: Aspect, plain: str, edges: str) -> list[str]:
    """Return the URNs in an older and a newer key of an aspect.

    The older key of a chart has a union of one type: `{"string": URN}`.

    `plain` is the older key with URNs, and `edges` the newer one with objects.
    """
    named = [
        next(iter(item.values()), None) if isinstance(item, dict) else item
        for item in aspect.get(plain) or ()
    ]
    linked = [edge.get("destinationUrn") for edge in objects(aspect.get(edges))]
    return [urn for urn in (*named, *linked) if isinstance(urn, str)]


def by_type(entities: dict[str, Entity]) -> dict[str, list[Entity]]:
    """Return the entities of each type, without removed ones."""
    found: dict[str, list[Entity]] = defaultdict(list)
    for entity in entities.values():
        if not entity.is_removed:
            found[entity.urn.removeprefix("urn:li:").partition(":")[0]].append(entity)
    return found
