"""Hostile bodies: a server masks them with limited memory and answers other clients meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.hostile_bodies import BODIES, MB, measure
from benchmarks.reliability import serving

pytestmark = [pytest.mark.server, pytest.mark.replay]

_SIZE = 2 * MB
_LIMIT = 8 * _SIZE + 8 * MB
"""Memory that a body may need beyond its size: copies of it, and the noise of the allocator."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    database: Path = tmp_path_factory.mktemp("hostile") / "log.db"
    with serving(database) as (process, port):
        measure(process.pid, port, BODIES["text of curl"](MB))  # imports modules
        yield process.pid, port


@pytest.mark.parametrize("name", BODIES)
def test_hostile_body_needs_limited_memory(name: str, server: tuple[int, int]) -> None:
    measured = measure(*server, BODIES[name](_SIZE))
    assert measured.status in (201, 413, 422)
    assert measured.peak < _LIMIT


def test_other_clients_are_answered_before_a_hostile_body(server: tuple[int, int]) -> None:
    assert measure(*server, BODIES["text of token=x"](_SIZE)).answers > 0
