"""Replay recorded requests to Marquez and list the differences between its responses and ours.

The README beside the recordings has the rules: values compared exactly, values compared by shape
only, and lists without an order. Names are translated first: Marquez lists a dataset under each
alias, and prefixes a job's name with its parent's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlsplit

import orjson

from headwater.events import parse_time, to_micros


class Client(Protocol):
    """A client of a server, such as httpx's."""

    def get(self, url: str) -> Any:
        """Return the response to a GET request."""


_SHAPE_ONLY = {
    "version", "currentVersion", "currentSchemaVersion", "parentJobUuid", "datasetVersion"
}  # fmt: skip
"""Ids that each server makes by a scheme of its own: only whether there is one counts."""

_ORDERED = {"jobs", "runs", "versions", "events", "namespaces", "datasets", "latestRuns"}
"""Lists whose order means something."""

_UPDATED_BY_CLOCK = {"dataset", "datasets", "job", "jobs", "search", "lineage"}
"""Answers in which `updatedAt` is an event's time or the clock's, whichever came last."""


@dataclass(frozen=True)
class Difference:
    """A value that differs between the two responses."""

    scenario: str
    kind: str
    path: str
    field: str
    theirs: Any
    ours: Any


class Absent:
    """Represents a value that one of the two responses lacks."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()


class Replay:
    """A scenario: its recorded responses and ours."""

    def __init__(self, folder: Path, client: Client) -> None:
        self._scenario = folder.name
        self._answers = folder / "answers"
        self._index = orjson.loads((self._answers / "index.json").read_bytes())
        self._client = client
        self._words: dict[str, str] = {}  # ids of versions and of nodes: theirs, ours
        self._names: dict[tuple[str, str], tuple[str, str]] = {}
        self.asked = len(self._index)
        self.failed: list[str] = []
        self.differences = list(self._differences())

    def _ask(self, path: str) -> tuple[int, Any]:
        answer = self._client.get(path)
        if answer.status_code >= 500:
            self.failed.append(path)
        return answer.status_code, answer.json()

    def _differences(self) -> Iterator[Difference]:
        """Yield all differences by response."""
        for item in self._index:
            self._learn_name(item["path"])
        for item in sorted(self._index, key=lambda each: bool(each.get("marquezId"))):
            path, status = item["path"], item["status"]
            kind = kind_of(path)
            code, ours = self._ask(self._translated_path(path))
            if code != status:
                yield Difference(self._scenario, kind, path, "status", status, code)
            elif status == 200:
                recorded = self._recorded(item)
                if kind.endswith(" versions"):
                    self._learn_versions(recorded, ours)
                for field, one, other in compare(kind, self._translated(recorded), ours):
                    yield Difference(self._scenario, kind, path, field, one, other)

    def _recorded(self, item: dict[str, Any]) -> Any:
        if item["file"] is None:
            return None
        return orjson.loads((self._answers / item["file"]).read_bytes())

    def _learn_name(self, path: str) -> None:
        """Learn the name under which headwater shows a job or a dataset that Marquez lists."""
        kind = kind_of(path)
        if kind not in ("job", "dataset"):
            return
        status, ours = self._ask(path)
        namespace, name = map(unquote, path.split("/")[4:7:2])
        if status == 200 and ours["id"] != {"namespace": namespace, "name": name}:
            shown = ours["id"]["namespace"], ours["id"]["name"]
            self._names[namespace, name] = shown
            self._words[f"{kind}:{namespace}:{name}"] = f"{kind}:{shown[0]}:{shown[1]}"

    def _learn_versions(self, theirs: Any, ours: Any) -> None:
        by_run = {_maker(version): version["version"] for version in ours["versions"]}
        for version in theirs["versions"]:
            if result := by_run.get(_maker(version)):
                self._words[version["version"]] = result

    def _field(self, id_: str) -> str:
        """Return the id of a field with the name that headwater uses for its dataset."""
        if id_.startswith("datasetField:"):
            dataset, _, field = id_.removeprefix("datasetField:").rpartition(":")
            shown = self._words.get(f"dataset:{dataset}", f"dataset:{dataset}")
            return f"{shown.replace('dataset:', 'datasetField:', 1)}:{field}"
        return id_

    def _translated_path(self, path: str) -> str:
        for theirs, ours in self._words.items():
            path = path.replace(quote(theirs, safe=""), quote(ours, safe=""))
        return path

    def _translated(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._translated(item) for item in value]
        if isinstance(value, str):
            return self._words.get(value) or self._field(value)
        if not isinstance(value, dict):
            return value
        results = {
            key: item if key == "facets" else self._translated(item) for key, item in value.items()
        }
        for key in ("name", "dataset"):
            shown = self._names.get((str(value.get("namespace")), str(value.get(key))))
            if shown:
                results["namespace"], results[key] = shown
        return results


def kind_of(path: str) -> str:
    """Return the kind of resource at a path."""
    parts = urlsplit(path).path.removeprefix("/api/v1/").split("/")
    if parts[0] == "namespaces" and len(parts) > 2:
        one = {"jobs": "job", "datasets": "dataset"}[parts[2]]
        if len(parts) == 3:
            return parts[2]
        if len(parts) == 4:
            return one
        return f"{one} {parts[4]}" if len(parts) == 5 else f"{one} {parts[4][:-1]}"
    if parts[:2] == ["jobs", "runs"]:
        return "run facets" if len(parts) == 4 else "run"
    if parts[0] == "namespaces":
        return "namespace" if len(parts) == 2 else "namespaces"
    return " ".join(parts)


def compare(kind: str, theirs: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:
    """Return all differences of two responses: field, theirs, ours."""
    if kind == "events lineage":  # Marquez rewrites events: only their identities are compared
        theirs, ours = (
            {**side, "events": [_slim(e) for e in side["events"]]} for side in (theirs, ours)
        )
    return _compare(kind, "", theirs, ours)


def _slim(event: dict[str, Any]) -> dict[str, Any]:
    names = {
        side: [{key: item[key] for key in ("namespace", "name")} for item in event.get(side) or ()]
        for side in ("inputs", "outputs")
    }
    job = {key: (event.get("job") or {}).get(key) for key in ("namespace", "name")}
    run = {"runId": (event.get("run") or {}).get("runId")}
    type_ = (event.get("eventType") or "").upper()
    return {
        "eventType": type_,
        "eventTime": to_micros(parse_time(event["eventTime"])),
        "run": run,
        "job": job,
        **names,
    }


def _maker(version: dict[str, Any]) -> Any:
    run = version.get("createdByRun") or version.get("latestRun") or {}
    return run.get("id")


def _key(item: Any) -> Any:
    """Return the key of an element of a list."""
    if not isinstance(item, dict):
        return item
    if "eventTime" in item:
        return tuple(str(item[key]) for key in ("eventTime", "run", "eventType", "job", "outputs"))
    if "run" in item:
        return item["run"]["id"]
    if "lifecycleState" in item or "latestRun" in item and "version" in item:
        return _maker(item)
    if "origin" in item:
        return item["origin"], item["destination"]
    for key in ("nodeId", "datasetVersionId", "id"):
        if key in item:
            id_ = item[key]
            return (id_["namespace"], id_["name"]) if isinstance(id_, dict) else id_
    return item.get("namespace"), item.get("dataset", item.get("name")), item.get("field")


def _compare(kind: str, field: str, theirs: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:
    name = field.rpartition(".")[2]
    if _is_by_shape(kind, name):
        if (theirs is None) != (ours is None):
            yield field, theirs, ours
    elif isinstance(theirs, dict) and isinstance(ours, dict):
        if "id" in theirs and theirs["id"] != ours.get("id"):
            yield f"{field}.id", theirs["id"], ours.get("id")
            return
        for key in sorted(theirs.keys() | ours.keys()):
            below = f"{field}.{key}".lstrip(".")
            one, other = theirs.get(key, ABSENT), ours.get(key, ABSENT)
            if name != "facets":
                yield from _compare(kind, below, one, other)
            elif one != other:
                yield below, one, other
    elif isinstance(theirs, list) and isinstance(ours, list):
        yield from _compare_lists(kind, field, theirs, ours)
    elif theirs != ours:
        yield field, theirs, ours


def _compare_lists(
    kind: str, field: str, theirs: list[Any], ours: list[Any]
) -> Iterator[tuple[str, Any, Any]]:
    one, other = ({_key(item): item for item in side} for side in (theirs, ours))
    for key in sorted(one.keys() | other.keys(), key=str):
        pair = one.get(key, ABSENT), other.get(key, ABSENT)
        if ABSENT in pair:
            yield f"{field}[]", *pair
        else:
            yield from _compare(kind, f"{field}[]", *pair)
    orders = [key for key in one if key in other], [key for key in other if key in one]
    if field.rpartition(".")[2] in _ORDERED and orders[0] != orders[1]:
        yield f"{field} order", *orders


def _is_by_shape(kind: str, name: str) -> bool:
    return name in _SHAPE_ONLY or (name == "updatedAt" and kind in _UPDATED_BY_CLOCK)
