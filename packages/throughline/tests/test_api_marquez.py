"""Replays what Marquez was asked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from fastapi.testclient import TestClient

from throughline.log import EventLog
from throughline.projection.live import Live
from throughline.server.app import make_app
from throughline.server.openapi import document

from .marquez import Difference, Replay
from .marquez_reasons import REASONS, SIDES, reason_of
from .told import Checked, Told
from .written import check_written, table

pytestmark = pytest.mark.replay

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEAD = """# Where throughline answers other than Marquez

Written by `packages/throughline/tests/test_api_marquez.py`, which posts the events of {scenarios}
scenarios, asks what Marquez 0.51.2 was asked ({asked} requests), and compares every value of every
answer. Ids that each server makes for itself are compared by their presence, and lists without a
meaningful order as sets. A difference that none of these reasons explains fails the suite.

"""


@pytest.fixture
def client(live: Live) -> Iterator[TestClient]:
    live.start()
    with TestClient(make_app(live), raise_server_exceptions=False) as client:
        yield client
    live.stop()


@pytest.fixture(scope="module")
def told() -> Told:
    """The OpenAPI document."""
    return Told(document(make_app(Live(EventLog("sqlite://")))))


@pytest.fixture(scope="module")
def replays(shared: Path, tmp_path_factory: pytest.TempPathFactory, told: Told) -> list[Replay]:
    """Every scenario, replayed and compared once."""
    found = []
    for folder in sorted(p for p in (shared / "marquez-answers").iterdir() if p.is_dir()):
        log = EventLog(f"sqlite:///{tmp_path_factory.mktemp(folder.name) / 'log.db'}")
        with TestClient(make_app(Live(log)), raise_server_exceptions=False) as client:
            for line in (folder / "events.jsonl").read_bytes().splitlines():
                assert client.post("/api/v1/lineage", content=line).status_code < 500
            found.append(Replay(folder, Checked(client, told)))
        log.close()
    return found


def test_every_difference_from_marquez_has_a_reason(replays: list[Replay]) -> None:
    without = [d for replay in replays for d in replay.differences if reason_of(d) is None]
    assert not without, "\n".join(map(str, without[:20]))


def test_every_reason_explains_a_difference(replays: list[Replay]) -> None:
    used = {reason_of(d) for replay in replays for d in replay.differences}
    assert [reason.text for reason in REASONS if reason not in used] == []


def test_no_recorded_marquez_request_returns_5xx(replays: list[Replay]) -> None:
    assert [path for replay in replays for path in replay.failed] == []


def test_every_response_matches_the_openapi_document(replays: list[Replay], told: Told) -> None:
    assert replays
    assert told.untrue == []


def test_docs_list_the_differences(replays: list[Replay]) -> None:
    by_reason: dict[Any, list[Difference]] = defaultdict(list)
    for replay in replays:
        for difference in replay.differences:
            by_reason[reason_of(difference)].append(difference)
    asked = sum(replay.asked for replay in replays)
    text = _HEAD.format(scenarios=len(replays), asked=asked)
    for side, what in SIDES.items():
        rows = [
            (
                reason.text,
                len(found),
                len({(d.scenario, d.path) for d in found}),
                _example(found[0]),
            )
            for reason in REASONS
            if reason.side == side and (found := by_reason[reason])
        ]
        head = (side, "values", "answers", "for example")
        text += f"## {side}\n\n{what}\n\n{table(head, rows)}\n"
    check_written("marquez.md", text.rstrip() + "\n")


def _example(difference: Difference) -> str:
    path = unquote(difference.path.removeprefix("/api/v1"))
    shown = f"{difference.scenario[:2]} `{path}`"
    field = f" `{difference.field}`" if difference.field not in ("", "status") else ""
    return f"{shown}{field}: {_short(difference.theirs)} → {_short(difference.ours)}"


def _short(value: Any) -> str:
    if isinstance(value, str) and _UUID.fullmatch(value):
        return "an id"
    if isinstance(value, dict):
        id_ = value.get("id", value.get("nodeId", value.get("name")))
        return f"`{str(id_)[:60]}`" if id_ else "an object"
    return f"`{value[:60] if isinstance(value, str) else str(value)[:60]}`"


def test_parents_that_marquez_loses_are_pipelines(shared: Path, client: TestClient) -> None:
    folder = shared / "marquez-answers/02-parent-facet"
    for line in (folder / "events.jsonl").read_bytes().splitlines():
        assert client.post("/api/v1/lineage", content=line).status_code == 201
    edges = client.get("/api/v2/edges?level=pipeline").json()["items"]
    assert {(e["job"]["name"], e["direction"], e["dataset"]["name"]) for e in edges} == {
        ("dag", "reads", "p.src"),
        ("dag", "writes", "p.stage"),
        ("dag", "reads", "p.stage"),
        ("dag", "writes", "p.dst"),
        ("silent_dag", "reads", "p.dst"),
    }
