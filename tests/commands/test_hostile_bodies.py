"""A server masks hostile bodies with limited memory and answers other clients meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.hostile_bodies import BODIES, MB, measure
from benchmarks.reliability import serving

pytestmark = [pytest.mark.server, pytest.mark.replay]

_SIZE = 2 * MB
_FACTOR = 8
_FACTOR_OF_MANY_VALUES = 32
_MANY_VALUES = {"text with an emoji", "many texts", "pairs", "objects in a facet", "columns"}
"""Bodies that need more memory: those of many values, and texts of 4 bytes per character."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    database: Path = tmp_path_factory.mktemp("hostile") / "log.db"
    with serving(database) as (process, port):
        measure(process.pid, port, BODIES["text of curl"](MB))  # lets the server import modules
        yield process.pid, port


@pytest.mark.parametrize("name", BODIES)
def test_hostile_body_needs_limited_memory(name: str, server: tuple[int, int]) -> None:
    measured = measure(*server, BODIES[name](_SIZE))
    assert measured.status in (201, 413, 422)
    factor = _FACTOR_OF_MANY_VALUES if name in _MANY_VALUES else _FACTOR
    assert measured.peak < factor * measured.size + 8 * MB


def test_other_clients_are_answered_while_a_hostile_body_is_masked(server: tuple[int, int]) -> None:
    assert measure(*server, BODIES["text of token=x"](_SIZE)).answers > 0
