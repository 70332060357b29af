"""LineageQA holds its targets on the parts whose events are in the repository."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from statistics import median
from types import ModuleType

import pytest

_BENCHMARK = Path(__file__).resolve().parents[4] / "benchmarks" / "lineage_qa.py"
_MOST_TOKENS = 1_500


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lineage_qa", _BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.replay
def test_every_question_is_answered_in_one_short_call(benchmark: ModuleType) -> None:
    scores = list(benchmark.scores(benchmark.OWN_PARTS))
    assert len(scores) >= 300
    unknown = [score for score in scores if score.is_unknown]
    assert len(unknown) >= 60
    assert [(score.ask, score.problem) for score in scores if score.problem] == []
    assert median(score.calls for score in scores) == 1
    assert max(size for score in scores for size in score.tokens) <= _MOST_TOKENS


@pytest.mark.parametrize(
    ("found", "expected", "is_same"),
    [
        (["dataset:n:a.b"], ["b"], True),
        (["dataset:n:a.b"], ["a.b"], True),
        (["dataset:n:ab"], ["b"], False),
        (["dataset:n:a", "dataset:n:b"], ["a"], False),
        (["dataset:n:a"], ["a", "b"], False),
    ],
)
def test_lists_are_compared_as_whole_names(
    found: list[str], expected: list[str], is_same: bool, benchmark: ModuleType
) -> None:
    assert benchmark._are_same(found, expected) is is_same


def test_wrong_answer_is_a_problem(benchmark: ModuleType) -> None:
    answer = {"status": "none", "upstream": [{"id": "dataset:n:a"}]}
    expected = {"status": "found", "upstream": ["b"], "contains": ["x"], "lacks": ["none"]}
    assert len(list(benchmark._problems(answer, '{"status":"none"}', expected))) == 4
