"""A server masks hostile bodies with limited memory and answers other clients meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.hostile_bodies import BODIES, MB, _event, measure, request
from benchmarks.reliability import serving
from headwater.settings import Settings

pytestmark = [pytest.mark.server, pytest.mark.replay]

_SIZE = MB
_MOST = 64 * MB
_LARGEST = Settings.model_fields["largest_event"].default
_AT_MOST = {"many texts", "pairs", "objects in a facet", "columns", "large events"}
"""Bodies whose memory depends on the number of values, or that have about the largest size."""
_REJECTED = {name for name in BODIES if name.startswith("array of ")}
_COSTLY = {"text of token=x", "text of &sig=x", 'text of password = "x"'}
"""Texts that masking makes longer, measured at a size at which constant costs are small."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    database: Path = tmp_path_factory.mktemp("hostile") / "log.db"
    with serving(database) as (process, port):
        measure(process.pid, port, BODIES["text of curl"](MB))  # lets the server import modules
        yield process.pid, port


# A sixth of the texts, because all would take two minutes; the benchmark measures all.
_TESTED = [
    name
    for number, name in enumerate(BODIES)
    if number % 6 == 0 or name in _COSTLY or not name.startswith("text of ")
]


@pytest.mark.parametrize("name", _TESTED)
def test_hostile_body_needs_limited_memory(name: str, server: tuple[int, int]) -> None:
    size = 2 * _SIZE if name in _COSTLY else _SIZE
    measured = measure(*server, BODIES[name](size))
    assert measured.status == (422 if name in _REJECTED else 201)
    if name in _AT_MOST:
        assert measured.peak < _MOST / (1 if name == "large events" else 2)
    else:
        width = 4 if name == "text with an emoji" else 1
        share = measured.size * width / _LARGEST
        assert measured.peak < share * _MOST + (0 if name in _COSTLY or width > 1 else 8 * MB)
    if name in _COSTLY:  # masking takes long enough for requests of another client meanwhile
        assert measured.answers > 0


@pytest.mark.parametrize(("text", "width"), [("x", 1), ("é", 1), ("→", 2), ("😀", 4)])
def test_event_above_the_largest_size_gets_413(
    text: str, width: int, server: tuple[int, int]
) -> None:
    _, port = server
    padding = "x" * (_LARGEST // width - 1_000)
    for count, status in ((1, 201), (2_000, 413)):
        facet = {"text": padding + text * count}
        for escaped, pattern in ((True, b"%b"), (False, b"[%b]")):
            body = json.dumps(_event(facet), ensure_ascii=escaped).encode()
            assert request(port, "POST", "/api/v1/lineage", pattern % body) == status
