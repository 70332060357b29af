"""The lines of a printed tree."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.lineage.printing import print_tree_answer
from headwater.lineage.queries import tree_answer


@pytest.mark.parametrize("later_writes", [(), ("db|t",)])
def test_newest_run_without_the_edge_follows_then(
    later_writes: tuple[str, ...], build: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    state = build.state(
        build.run("COMPLETE", "1", "load", "08:00:00", writes=("db|t",)),
        build.run("COMPLETE", "2", "load", "09:00:00", writes=later_writes),
    )
    print_tree_answer(tree_answer(state, "db:t", "up"))
    printed = capsys.readouterr().out
    first, second = "COMPLETED  2025-11-21 08:00:00", "COMPLETED  2025-11-21 09:00:00"
    expected = second if later_writes else f"{first}  then  {second}"
    assert f"load  {expected}\n" in printed
