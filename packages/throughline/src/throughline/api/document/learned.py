"""JSON Schemas of answers, learned from answers, so that none can say what no function answers.

What an object of a kind can hold is learned from all of that kind, in whatever answer it stands.
"""

from __future__ import annotations

import re
from typing import Any

Schema = dict[str, Any]

_KINDS = {
    "GraphNode": {"inEdges", "outEdges", "data"},
    "Job": {"latestRuns", "simpleName"},
    "JobNode": {"simpleName", "currentRunUuid"},
    "JobVersion": {"latestRun", "version", "location"},
    "Dataset": {"physicalName", "columnLineage"},
    "DatasetVersion": {"physicalName", "lifecycleState"},
    "DatasetNode": {"physicalName", "lastLifecycleState"},
    "Run": {"jobVersion", "durationMs"},
    "RunInFull": {"runId", "state", "code", "parameters"},
    "RunLine": {"runId", "state", "durationMs"},
    "ColumnBranch": {"transformation", "children"},
    "Branch": {"isRepeated", "hasMore", "children"},
    "Namespace": {"ownerName", "isHidden"},
    "Source": {"connectionUrl"},
    "SearchResult": {"nodeId", "updatedAt"},
    "Edge": {"origin", "destination"},
    "Standing": {"backend", "deadLetters"},
    "ColumnMaker": {"job", "task", "inputs"},
    "OriginRun": {"job", "run", "code", "inputs", "outputs"},
    "UpstreamRun": {"job", "run", "inputs"},
}
"""Objects with a name of their own, by keys that no other has; the first that fits counts."""

_MAPS = {"facets", "facet", "parameters", "about", "code", "namespaces", "nodes"}
"""Objects whose keys are data: any may be there."""

_EVENT = {"eventTime", "schemaURL"}
"""Keys of an event as it was sent: of what it holds, OpenLineage has the schema."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class Learner:
    """What was seen so far of each kind of object."""

    def __init__(self) -> None:
        self._seen: dict[str, list[dict[str, Any]]] = {}

    def see(self, value: Any) -> None:
        """Note every object with a name of its own in an answer, however deep."""
        if isinstance(value, list):
            for each in value:
                self.see(each)
        elif isinstance(value, dict):
            if kind := _kind(value):
                self._seen.setdefault(kind, []).append(value)
            for key, each in value.items():
                if key not in _MAPS or isinstance(each, list):
                    self.see(each)

    def components(self) -> dict[str, Schema]:
        """The schema of each kind."""
        return {kind: self._object(values) for kind, values in sorted(self._seen.items())}

    def schema(self, values: list[Any], key: str = "") -> Schema:
        """The schema of values that stand in one place."""
        known = [value for value in values if value is not None]
        found = [self._typed(type_, known, key) for type_ in _types(known)]
        if len(known) < len(values):
            found.append({"type": "null"})
        return found[0] if len(found) == 1 else {"anyOf": found} if found else {}

    def _typed(self, type_: str, values: list[Any], key: str) -> Schema:
        mine = [value for value in values if _type(value) == type_]
        if type_ == "object":
            return self._objects(mine, key)
        if type_ == "array":
            items = [item for value in mine for item in value]
            is_raw = any(isinstance(item, dict) and item.keys() >= _EVENT for item in items)
            schema = {"type": "object", "examples": items[:1]} if is_raw else self.schema(items)
            return {"type": "array", "items": schema}
        if type_ == "string" and all(_TIME.fullmatch(value) for value in mine):
            return {"type": "string", "format": "date-time", "examples": [mine[0]]}
        return {"type": type_, "examples": [next((each for each in mine if each), mine[0])]}

    def _objects(self, values: list[dict[str, Any]], key: str) -> Schema:
        if key in _MAPS:
            return {"type": "object", "examples": [shortened(max(values, key=len))]}
        kinds = sorted({kind for value in values if (kind := _kind(value))})
        found: list[Schema] = [{"$ref": f"#/components/schemas/{kind}"} for kind in kinds]
        if plain := [value for value in values if _kind(value) is None]:
            found.append(self._object(plain))
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _object(self, values: list[dict[str, Any]]) -> Schema:
        keys = dict.fromkeys(key for value in values for key in value)
        required = [key for key in keys if all(key in value for value in values)]
        properties = {
            key: self.schema([value[key] for value in values if key in value], key) for key in keys
        }
        return {"type": "object", "properties": properties, "required": required}


def _kind(value: dict[str, Any]) -> str | None:
    return next((kind for kind, keys in _KINDS.items() if keys <= value.keys()), None)


def _types(values: list[Any]) -> list[str]:
    found = dict.fromkeys(map(_type, values))
    return [each for each in found if not (each == "integer" and "number" in found)]


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


def shortened(value: Any) -> Any:
    """An answer as an example: of each list its first two elements."""
    if isinstance(value, list):
        return [shortened(each) for each in value[:2]]
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    return value
