"""Every answer about the cases of the truth suite is true, and no answer contradicts another."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.errors import NotFoundError
from headwater.log import EventLog, entry_of
from headwater.plugins.incidents._taints import taint_entry
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, load_queries
from headwater.redaction import DEFAULT
from packages.headwater.tests.truth.cases import Case, Level, cases

_CASES = cases()
_WAYS = {"upstream": "up", "downstream": "down"}


class Server:
    """A store with the events of a case, at the time of its truth."""

    def __init__(self, case: Case, database: Path) -> None:
        log = EventLog(f"sqlite:///{database}")
        self.live = Live(log, clock=case.truth.now.timestamp)
        self.live.ingest(Batch([entry_of(orjson.dumps(event)) for event in case.events]))

        nodes = self.ask("nodes", limit=10_000)["items"]
        self._names = {
            node["name"]: alias
            for node in nodes
            for alias in {item["name"] for item in node["aliases"]} & set(case.datasets)
            if node["name"] not in case.datasets
        }

    def ask(self, name: str, **parameters: Any) -> Any:
        """Return the answer to a query of /api/v2."""
        return ask(self.live, load_queries()[name], parameters)

    def name(self, item: dict[str, Any]) -> str:
        """Return the name of a node as the truth spells it: it may use any of the aliases."""
        return self._names.get(item["name"], item["name"])


@pytest.fixture(scope="module", params=_CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture(scope="module")
def server(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(case, tmp_path_factory.mktemp("truth") / "log.db")
    yield server
    server.live.log.close()


@pytest.fixture(autouse=True)
def _known_wrong(request: pytest.FixtureRequest) -> None:
    """Expect the failures that a case lists with their reasons."""
    if "case" not in request.fixturenames:
        return
    case: Case = request.getfixturevalue("case")
    for about, reason in case.truth.known_wrong.items():
        if request.node.name.startswith(f"test_{about.removesuffix('s')}"):
            request.node.add_marker(pytest.mark.xfail(reason=reason, strict=False))


@pytest.mark.parametrize("level", ["pipeline", "task", "query"])
def test_edges_are_exactly_the_true_ones(case: Case, server: Server, level: Level) -> None:
    rows = server.ask("edges", level=level, limit=10_000)["items"]
    found = {(row["job"]["name"], row["direction"], server.name(row["dataset"])) for row in rows}
    assert found == case.edges(level)


@pytest.mark.parametrize("way", ["upstream", "downstream"])
def test_trees_and_impact_reach_exactly_what_is_true(case: Case, server: Server, way: Any) -> None:
    for dataset in case.datasets:
        expected = case.reachable(dataset, way)
        tree = server.ask("tree", node=dataset, direction=_WAYS[way])[_WAYS[way]]
        shown = set(_names_below(server, tree)) - {dataset}
        if way == "downstream":
            shown -= set(case.truth.passed_through.get(dataset, ()))
        assert shown == expected, f"tree {way} of {dataset}"
        if way == "downstream":
            affected = server.ask("impact", node=dataset)["affected"]
            assert {server.name(node) for node in affected} - {dataset} == expected, dataset


@pytest.mark.parametrize("way", ["upstream", "downstream"])
@pytest.mark.parametrize(
    "case",
    [case for case in _CASES if case.truth.control is not None],
    ids=lambda case: case.name,
    indirect=True,
    scope="module",
)
def test_control_dependencies_only_add_to_trees(case: Case, server: Server, way: Any) -> None:
    """Compare the nodes that control dependencies add to trees, and paths to these nodes."""
    truth, side = case.truth.control, _WAYS[way]
    assert truth is not None
    added_to = {"up": truth.upstream, "down": truth.downstream}[side]
    rows = server.ask("edges", kind="control")["items"]
    found = {f"{row['upstream']['name']} -> {row['downstream']['name']}" for row in rows}
    assert found == set(truth.edges)
    for dataset in case.datasets:
        default = server.ask("tree", node=dataset, direction=side)[side]
        with_control = server.ask("tree", node=dataset, direction=side, control=True)[side]
        shown = set(_names_below(server, with_control)) - {dataset}
        assert _without_control(with_control) == default, dataset
        if dataset not in added_to:
            continue
        added = shown - set(_names_below(server, default))
        assert added == set(_flat(added_to[dataset])), dataset
        for name in added:
            ends = (name, dataset) if way == "upstream" else (dataset, name)
            path = server.ask("path", from_=ends[0], to=ends[1], control=True)
            assert not path["isReversed"], ends
            assert any(node["isControl"] for node in path["path"]), ends
            with pytest.raises(NotFoundError):
                server.ask("path", from_=ends[0], to=ends[1])


def test_evidence_of_a_tree_is_that_of_why(case: Case, server: Server) -> None:
    for dataset in case.datasets:
        top = server.ask("tree", node=dataset)["up"]
        for child in top["children"]:
            if child["type"] != "job":
                continue
            (job,) = server.ask("why", from_=child["id"], to=top["id"])["jobs"]
            assert job["statedBy"] or job["runs"], (dataset, job)
            if job["seen"] == child["seen"]:  # the tree may show an older run of the job
                assert job["grade"] == child["grade"], (dataset, job, child)
            for source in child["children"]:
                jobs = server.ask("why", from_=source["id"], to=top["id"])["jobs"]
                grades = {job["grade"] for job in jobs}
                assert (source["grade"] == "possible") <= ("possible" in grades), (dataset, source)
        verified = server.ask("tree", node=dataset, evidence="verified")["up"]["children"]
        expected = [child["id"] for child in top["children"] if child["grade"] == "verified"]
        assert [child["id"] for child in verified] == expected


def test_provenance_names_only_runs_of_the_tree(case: Case, server: Server) -> None:
    for dataset in case.datasets:
        runs = server.ask("provenance", node=dataset)["runs"]
        assert {run["job"]["name"] for run in runs} <= case.reachable(dataset, "upstream"), dataset


@pytest.mark.parametrize(
    "case",
    [case for case in _CASES if case.truth.columns is not None],
    ids=lambda case: case.name,
    indirect=True,
    scope="module",
)
def test_column_edges_are_exactly_the_true_ones(case: Case, server: Server) -> None:
    assert case.truth.columns is not None
    found = {edge for dataset in case.datasets for edge in _column_edges(server, dataset)}
    expected = _expanded(case.truth.columns, found)
    found -= _expanded(case.truth.unreported_columns, found) - expected
    assert sorted(found) == sorted(expected)


def test_verdicts_are_true(case: Case, server: Server) -> None:
    verdicts = case.truth.verdicts
    for column, expected in verdicts.drop.items():
        dataset, _, field = column.rpartition(".")
        drop = server.ask("impact", node=dataset, field=field)["drop"]
        assert drop["verdict"] == expected, (column, drop)
    for dataset, rules in verdicts.gate.items():
        gate = server.ask("gate", dataset=[dataset])
        violations = gate["datasets"][0]["violations"]
        assert sorted({violation["kind"] for violation in violations}) == sorted(rules), gate
    if verdicts.findings is not None:
        findings = server.ask("findings", limit=1_000)["items"]
        found = [f"{item['kind']} {item['subject'].rpartition(':')[2]}" for item in findings]
        assert sorted(found) == sorted(verdicts.findings)


def test_states_are_true(case: Case, server: Server) -> None:
    for node, state in case.truth.verdicts.states.items():
        assert server.ask("node", node=node)["health"]["state"] == state, node
    if (expected := case.truth.verdicts.removals) is not None:
        found = {name: server.ask("node", node=name)["removal"] for name in case.datasets}
        assert {name: removal["kind"] for name, removal in found.items() if removal} == expected


def test_versions_have_exactly_their_true_readers(case: Case, server: Server) -> None:
    for text, truth in case.truth.versions.items():
        answer = server.ask("version", version=text)
        readers = {f"{item['run']['job']['name']} {item['by']}" for item in answer["readers"]}
        affected = {
            f"{server.name(node)}@{version}"
            for node in answer["affected"]
            for version in node["versions"]
        }
        assert sorted(readers) == sorted(truth.read_by), text
        assert sorted(affected) == sorted(truth.affects), text
        assert sorted(gap["kind"] for gap in answer["unknown"]) == sorted(truth.unknown), text


def test_incidents_name_exactly_what_is_affected_now(case: Case, server: Server) -> None:
    for text, truth in case.truth.incidents.items():
        answer = server.ask("incident", subject=text)
        bad = [f"{server.name(item)}@{item['version']}" for item in answer["versions"]]
        now = [server.name(node) for node in answer["affected"] if node["isCurrent"]]
        clean = [server.name(item) for item in answer["clean"] if item["isProven"]]
        unproven = [server.name(item) for item in answer["clean"] if not item["isProven"]]
        found = {"versions": bad, "now": now, "clean": clean, "unproven": unproven}
        expected = truth.model_dump()
        assert {key: sorted(names) for key, names in found.items()} == {
            key: sorted(names) for key, names in expected.items()
        }, text


def test_gates_refuse_exactly_what_contains_a_recalled_version(case: Case, tmp_path: Path) -> None:
    for number, (text, refused) in enumerate(case.truth.recalled.items()):
        server = Server(case, tmp_path / f"{number}.db")
        with server.live.reading() as state:
            now = int(case.truth.now.timestamp() * 1_000_000)
            entry = taint_entry(state, text, "bad", now, DEFAULT)
        server.live.ingest(Batch([entry]))
        found = {
            dataset
            for dataset in case.datasets
            for gated in server.ask("gate", dataset=[dataset])["datasets"]
            if "no_tainted" in {item["kind"] for item in gated["violations"]}
        }
        assert found == set(refused), text
        server.live.log.close()


@pytest.mark.parametrize(
    "case",
    [case for case in _CASES if case.truth.unused is not None],
    ids=lambda case: case.name,
    indirect=True,
    scope="module",
)
def test_unused_datasets_match_the_truth(case: Case, server: Server) -> None:
    items = server.ask("unused", limit=1_000)["items"]
    found = {item["name"]: sorted(reason["kind"] for reason in item["reasons"]) for item in items}
    assert found == case.truth.unused
    for item in items:
        assert item["verdict"] == ("unknown" if item["reasons"] else "unused")


def test_names_that_are_no_datasets_are_absent(case: Case, server: Server) -> None:
    names = {item["name"] for item in server.ask("datasets", limit=1_000)["items"]}
    assert not names & set(case.truth.absent)


def test_cases_share_no_dataset_and_no_job() -> None:
    used = Counter(
        place
        for case in _CASES
        for place in {
            (kind, item["namespace"], item["name"])
            for event in case.events
            for kind, items in (
                ("job", [event["job"]] if "job" in event else []),
                ("dataset", [*event.get("inputs", ()), *event.get("outputs", ())]),
            )
            for item in items
        }
    )
    assert [place for place, count in used.items() if count > 1] == []


def test_docs_name_existing_tests_and_cases() -> None:
    folder = Path(__file__).parents[1]
    page = (folder.parents[2] / "docs" / "reference" / "statements.md").read_text()
    tests = re.findall(r"`((?:[a-z]+/)*test_\w+\.py)(?:::(\w+))?`", page)
    assert len(tests) > 10
    for file, name in tests:
        assert f"def {name}" in (folder / file).read_text(), (file, name)
    for case in re.findall(r"`truth/cases/([\w-]+)`", page):
        assert (folder / "truth" / "cases" / case / "truth.yaml").is_file(), case


def _names_below(server: Server, node: dict[str, Any]) -> Iterator[str]:
    for child in node["children"]:
        yield server.name(child)
        yield from _names_below(server, child)


def _without_control(node: dict[str, Any]) -> dict[str, Any]:
    """Return a tree without the nodes that control dependencies lead to."""
    kept = [child for child in node["children"] if not child["isControl"]]
    return node | {"children": [_without_control(child) for child in kept]}


def _flat(names: list[Any]) -> Iterator[str]:
    for name in names:
        yield from [name] if isinstance(name, str) else _flat(name)


def _expanded(edges: list[str], found: set[str]) -> set[str]:
    """Return edges with those of all rows (`dataset.*`) given for each column of the dataset."""
    columns: dict[str, set[str]] = defaultdict(set)
    for edge in (*edges, *found):
        dataset, _, column = edge.split(" ")[0].rpartition(".")
        columns[dataset].add(column)
    return {
        f"{dataset}.{name} {rest}"
        for edge in edges
        for target, _, rest in [edge.partition(" ")]
        for dataset, _, column in [target.rpartition(".")]
        for name in (columns[dataset] - {"*"} or {"*"} if column == "*" else {column})
    }


def _column_edges(server: Server, dataset: str) -> Iterator[str]:
    """Yield the column edges into a dataset, those of all rows for each of its columns."""
    top = server.ask("columns", node=dataset, depth=1, indirect=True)["up"]
    for column in top["children"]:
        for source in column["children"]:
            arrow = "<-" if source["isDirect"] else "<~"
            target = f"{server.name(column)}.{column['field'] or '*'}"
            yield f"{target} {arrow} {server.name(source)}.{source['field'] or '*'}"
