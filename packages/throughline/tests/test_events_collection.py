"""Events of the shared collection: stored, with warnings or rejected, and never a 5xx."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient

from throughline.errors import EventError
from throughline.events import event_warnings, load
from throughline.log import EventLog, entry_of
from throughline.projection.live import Live
from throughline.server.app import make_app

from .generated_docs import check_written, table

pytestmark = pytest.mark.replay

_CLASSES = {
    "captured": "emitted by running integrations, kept as emitted",
    "this-stack": "emitted by the integrations that this project uses",
    "golden": "expected outputs of integrations' own tests, some of them partial",
    "handmade": "written by people for documentation, demos and tests",
    "edge-cases": "invalid or unusual on purpose",
}
_HEAD = """# What becomes of real events

Written by `packages/throughline/tests/test_events_collection.py`, which posts every event of a
collection of files from public repositories to `POST /api/v1/lineage`, one by one. Odd events are
taken; `/api/v2/events/warnings` lists their warnings. Repeated ones are in several files.

"""


@dataclass
class Tally:
    """The results of the events of one class."""

    files: int = 0
    events: int = 0
    taken: int = 0
    odd: int = 0
    repeated: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


class Collection:
    """All posted files with their responses."""

    def __init__(self, folder: Path, client: TestClient) -> None:
        self.tallies: dict[str, Tally] = defaultdict(Tally)
        self.event_warnings: Counter[tuple[str, str]] = Counter()
        self._seen: set[str] = set()
        for file in sorted(p for p in folder.rglob("*.json*") if p.is_file()):
            tally = self.tallies[file.relative_to(folder).parts[0]]
            tally.files += 1
            for raw in _bodies(file):
                tally.events += 1
                self._post(tally, str(file.relative_to(folder)), raw, client)

    def _post(self, tally: Tally, file: str, raw: bytes, client: TestClient) -> None:
        answer = client.post("/api/v1/lineage", content=raw)
        if answer.status_code >= 500:
            tally.failed.append(f"{file}: {answer.text}")
        elif answer.status_code != 201:
            tally.refused.append((file, answer.json()["message"]))
        else:
            body = load(raw)
            identity = entry_of(raw, body).hash
            is_new = identity not in self._seen
            self._seen.add(identity)
            tally.taken += is_new
            tally.repeated += not is_new
            odd = list(event_warnings(body)) if is_new else []
            tally.odd += bool(odd)
            self.event_warnings.update({(_any_index(item.path), item.expected) for item in odd})


def _bodies(file: Path) -> Iterator[bytes]:
    raw = file.read_bytes()
    try:
        body = load(raw)
    except EventError:
        yield from (line for line in raw.splitlines() if line.strip())
        return
    if isinstance(body, list):
        yield from map(orjson.dumps, body)
        return
    lists = [item for item in body.values() if isinstance(item, list)]
    if "eventTime" not in body and lists:
        yield from map(orjson.dumps, lists[0])
        return
    yield raw


def _any_index(path: str) -> str:
    return "".join(part.partition("]")[2] if i else part for i, part in enumerate(path.split("[")))


@pytest.fixture(scope="module")
def collection(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield the collection and a client of the server that received it."""
    log = EventLog(f"sqlite:///{tmp_path_factory.mktemp('collection') / 'log.db'}")
    with TestClient(make_app(Live(log)), raise_server_exceptions=False) as client:
        yield Collection(shared / "openlineage-events", client), client
    log.close()


def test_no_event_causes_a_server_error(collection: tuple[Collection, TestClient]) -> None:
    assert [line for tally in collection[0].tallies.values() for line in tally.failed] == []


def test_captured_events_are_accepted(
    collection: tuple[Collection, TestClient],
) -> None:
    tallies = collection[0].tallies
    refused = [file for name in ("captured", "this-stack") for file, _ in tallies[name].refused]
    # The one event without a run id comes from an old version of a file made to be refused.
    assert [file.rsplit("__", 1)[-1] for file in refused] == ["fail_event.json"]


def test_all_reads_succeed(collection: tuple[Collection, TestClient]) -> None:
    levels = ("query", "task", "pipeline")
    edges = [
        f"/api/v2/edges?level={level}&kind={k}" for level in levels for k in ("data", "control")
    ]
    for path in ("/api/v1/jobs?limit=500", "/api/v1/namespaces", "/api/v2/export", "/", *edges):
        assert collection[1].get(path).status_code == 200, path


def test_docs_have_the_counts_by_class(collection: tuple[Collection, TestClient]) -> None:
    result = collection[0]
    rows = [
        (
            f"{name}: {what}",
            tally.files,
            tally.events,
            tally.taken,
            tally.odd,
            tally.repeated,
            len(tally.refused),
            len(tally.failed),
        )
        for name, what in _CLASSES.items()
        if (tally := result.tallies[name])
    ]
    head = ("class", "files", "events", "taken", "of these odd", "repeated", "refused", "5xx")
    text = _HEAD + table(head, rows)
    why = Counter(
        (name, message) for name, tally in result.tallies.items() for _, message in tally.refused
    )
    text += "\n## What was refused\n\n" + table(
        ("events", "class", "answer"),
        [(count, name, f"`{message[:140]}`") for (name, message), count in sorted(why.items())],
    )
    text += "\n## What was odd\n\n" + table(
        ("events", "where", "expected"),
        [
            (count, f"`{path}`", expected)
            for (path, expected), count in sorted(result.event_warnings.items(), key=_by_count)[:25]
        ],
    )
    check_written("packages/throughline/tests/reports/events.md", text)


def _by_count(item: tuple[tuple[str, str], int]) -> tuple[int, tuple[str, str]]:
    return -item[1], item[0]
