"""The benchmark that scores a lineage server on the cases of the truth suite."""

from __future__ import annotations

from typing import Any

from benchmarks.lineage_truth import Client, ColumnTruth, Names, Score, _score
from packages.headwater.tests.truth.cases import Case, cases


class _Answers(Client):
    """A server with prepared answers."""

    def __init__(self, nodes: list[dict[str, Any]]) -> None:
        super().__init__("http://localhost")
        self._nodes = nodes

    def graph(self, path: str, node: str) -> list[dict[str, Any]]:
        """Return the prepared nodes of the tables, and no columns."""
        return [] if "column" in path else self._nodes


def _case(name: str) -> Case:
    return next(case for case in cases() if case.name == name)


def _graph(*edges: tuple[str, str]) -> list[dict[str, Any]]:
    nodes = sorted({node for edge in edges for node in edge})
    return [
        {
            "id": node,
            "type": "DATASET",
            "data": {"name": node},
            "inEdges": [{"origin": a, "destination": b} for a, b in edges if b == node],
            "outEdges": [{"origin": a, "destination": b} for a, b in edges if a == node],
        }
        for node in nodes
    ]


def test_score_counts_true_false_and_missing_edges() -> None:
    score = Score()
    score.compare({("a", "upstream", "b"), ("a", "upstream", "x")}, {("a", "upstream", "b")})
    score.compare(set(), {("b", "downstream", "a")})
    assert (score.true, score.false, score.missing) == (1, 1, 1)
    assert str(score).split() == ["0.50", "0.50"]
    assert len(score.examples) == 2
    assert str(Score()).split() == ["–", "–"]


def test_perfect_answer_scores_one_and_empty_answer_zero() -> None:
    case = _case("openlineage-sql-duckdb")
    lines = [line.split(": ", 1)[1].split(" -> ") for line in case.truth.tasks]
    edges = [(source, target) for sources, target in lines for source in sources.split(", ")]
    perfect = _score(_Answers(_graph(*edges)), case)["tables"]
    assert str(perfect).split() == ["1.00", "1.00"]
    empty = _score(_Answers([]), case)["tables"]
    assert (empty.true, empty.false, empty.missing) == (0, 0, perfect.true)


def test_wrong_edge_lowers_the_precision() -> None:
    case = _case("openlineage-sql-duckdb")
    wrong = _graph(("warehouse.main.big", "warehouse.main.kinds"))
    score = _score(_Answers(wrong), case)["tables"]
    assert (score.true, score.false) == (0, 2)


def test_unmarked_column_edge_is_what_it_is_in_the_truth() -> None:
    truth = ColumnTruth(_case("openlineage-sql-duckdb"))
    target = "warehouse.main.latest"
    source = "warehouse.main.events"
    direct, indirect = truth.sorted(
        [
            (f"{target}.id", f"{source}.id", False),
            (f"{target}.id", f"{source}.happened", False),
            (f"{target}.id", f"{source}.kind", False),
        ]
    )
    assert direct == {(f"{target}.id", "<-", f"{source}.{name}") for name in ("id", "kind")}
    assert indirect == {(f"{target}.*", "<~", f"{source}.happened")}


def test_datasets_are_found_under_every_reported_name() -> None:
    names = Names(_case("catalog-table-moves"))
    case = _case("catalog-table-moves")
    assert all(names.nodes(dataset) for dataset in case.datasets)
