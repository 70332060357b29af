"""The benchmark of reliability runs, counts failures and repeats its random values."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks import reliability
from benchmarks.reliability import Options, event, main, mutated, random_call


def test_failures_are_printed_and_end_with_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(reliability.PARTS, "calls", lambda options: (options.calls, "bad", 2))
    with pytest.raises(SystemExit) as ended:
        main(["clocks", "calls", "--calls", "7"])
    assert ended.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == ["| clocks | 5 | orders with other edges | 0 |", "| calls | 7 | bad | 2 |"]


def test_equal_seeds_give_equal_calls_and_events() -> None:
    operation = {"parameters": [{"name": "node", "in": "query"}, {"name": "id", "in": "path"}]}
    calls = [
        [random_call(chance, "/x/{id}", "post", operation) for _ in range(20)]
        for chance in (random.Random(3), random.Random(3))
    ]
    assert calls[0] == calls[1]
    assert len({call[1] for call in calls[0]}) > 3
    chance = random.Random(3)
    assert sum(mutated(chance, event(1)) == event(1) for _ in range(100)) < 50


@pytest.mark.server
def test_events_before_a_kill_are_found(tmp_path: Path) -> None:
    options = Options(1, 0, 0, 0, random.Random(1), tmp_path)
    assert reliability.kills(options)[2] == 0
