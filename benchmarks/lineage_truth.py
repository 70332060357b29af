"""Score a lineage server with Marquez's API on the cases of the truth suite.

    .venv/bin/python -m benchmarks.lineage_truth [--url http://localhost:5000] [--failed]

It posts the events of all cases and compares the answers of `/api/v1/lineage` (upstream and
downstream tables) and `/api/v1/column-lineage` (direct sources of columns) with the truth. Without
`--url` it starts `headwater serve` on an empty database; another server should be empty, too.

Marquez's API does not say whether a column determines a value or only the rows. An edge whose
transformation names an indirect kind is indirect, any other edge is what it is in the truth, and
direct if it is false. Edges that the truth states for all rows count once for each dataset.
Edges that the events do not determine count neither as true nor as false.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from packages.headwater.tests.truth.cases import Case, cases

_PORT = 9127
_MEASURES = ("tables", "direct columns", "indirect columns")
_INDIRECT = ("INDIRECT", "JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL")

Edges = set[tuple[str, str, str]]


class Client:
    """A server with Marquez's API."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def post(self, event: dict[str, Any]) -> bool:
        """Send an event, and return False if the server rejects it."""
        body, headers = json.dumps(event).encode(), {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._url}/api/v1/lineage", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=60):
                return True
        except urllib.error.HTTPError:
            return False

    def graph(self, path: str, node: str) -> list[dict[str, Any]]:
        """Return the nodes of the graph around a node; none if the server has no such node."""
        query = urllib.parse.urlencode({"nodeId": node, "depth": 20})
        try:
            with urllib.request.urlopen(f"{self._url}{path}?{query}", timeout=120) as answer:
                nodes: list[dict[str, Any]] = json.load(answer)["graph"]
                return nodes
        except urllib.error.HTTPError:
            return []


@dataclass
class Score:
    """True and false edges of an answer, and the true ones that it lacks."""

    true: int = 0
    false: int = 0
    missing: int = 0
    examples: list[str] = field(default_factory=list)

    def compare(self, found: Edges, expected: Edges) -> None:
        """Add the edges of an answer."""
        self.true += len(found & expected)
        self.false += len(found - expected)
        self.missing += len(expected - found)
        self.examples += [f"false: {edge}" for edge in sorted(found - expected)]
        self.examples += [f"missing: {edge}" for edge in sorted(expected - found)]

    def __str__(self) -> str:
        precision = _ratio(self.true, self.true + self.false)
        recall = _ratio(self.true, self.true + self.missing)
        return f"{precision:>5} {recall:>5}"


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "–"


class Names:
    """The names of a case's datasets: those of the truth, and their places in the events."""

    def __init__(self, case: Case) -> None:
        self._truth = set(case.datasets)
        self._events = case.events
        self._spelling: dict[str, str] = {}
        for places in self._places:
            names = {name for _, name in places} | {name.lstrip("/") for _, name in places}
            for known in names & self._truth:
                self._spelling |= {name: known for name in names if name not in self._truth}

    @cached_property
    def _places(self) -> list[list[tuple[str, str]]]:
        """All names of each dataset of the events, its own name first."""
        found = []
        for event in self._events:
            for item in (*event.get("inputs", ()), *event.get("outputs", ())):
                facets = item.get("facets") or {}
                links = (facets.get("symlinks") or {}).get("identifiers", ())
                found.append([(place["namespace"], place["name"]) for place in (item, *links)])
                for source in _sources(facets.get("columnLineage") or {}):
                    found.append([(source["namespace"], source["name"])])
        return found

    def of(self, name: str) -> str:
        """Return a dataset's name as the truth spells it."""
        return self._spelling.get(name, name)

    def nodes(self, dataset: str) -> list[str]:
        """Return the ids under which a server may have a dataset."""
        places = [
            place for names in self._places for place in names if self.of(place[1]) == dataset
        ]
        if not places:  # only SQL names it: it is beside the others
            places = [(names[0][0], dataset) for names in self._places]
        return list(dict.fromkeys(f"dataset:{namespace}:{name}" for namespace, name in places))


def _sources(lineage: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for entry in lineage.get("fields", {}).values():
        yield from entry.get("inputFields", ())
    yield from lineage.get("dataset", ())


def _table_edges(names: Names, dataset: str, nodes: Iterable[dict[str, Any]]) -> Edges:
    """Return the datasets upstream and downstream of a dataset in Marquez's graph."""
    before: dict[str, set[str]] = defaultdict(set)
    after: dict[str, set[str]] = defaultdict(set)
    table: dict[str, str] = {}
    for node in nodes:
        if node["type"] == "DATASET":
            table[node["id"]] = names.of(node["data"]["name"])
        for edge in (*node["inEdges"], *node["outEdges"]):
            before[edge["destination"]].add(edge["origin"])
            after[edge["origin"]].add(edge["destination"])
    own = {node for node, name in table.items() if name == dataset}
    return {
        (dataset, way, table[node])
        for way, edges in (("upstream", before), ("downstream", after))
        for node in _reachable(own, edges)
        if node in table and table[node] != dataset
    }


def _reachable(start: set[str], edges: dict[str, set[str]]) -> set[str]:
    found, waiting = set(start), list(start)
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _column_edges(
    names: Names, dataset: str, nodes: Iterable[dict[str, Any]]
) -> Iterator[tuple[str, str, bool]]:
    """Yield target, source and whether it is named indirect, of a dataset's direct sources."""
    for node in nodes:
        data = node.get("data") or {}
        if node["type"] != "DATASET_FIELD" or names.of(data["dataset"]) != dataset:
            continue
        for source in data.get("inputFields", ()):
            kind = (source.get("transformationType") or "").upper()
            name = f"{names.of(source['dataset'])}.{source['field']}"
            yield f"{dataset}.{data['field']}", name, any(part in kind for part in _INDIRECT)


class ColumnTruth:
    """The column edges of a case, by kind."""

    def __init__(self, case: Case) -> None:
        self._direct, self._indirect = _by_kind(case.truth.columns or [])
        free = _by_kind(case.truth.unreported_columns)
        self._free = free[0] | free[1]

    def of(self, dataset: str) -> tuple[Edges, Edges]:
        """Return the direct and the indirect edges into a dataset."""
        return (
            {edge for edge in self._direct if _dataset(edge[0]) == dataset},
            {edge for edge in self._indirect if _dataset(edge[0]) == dataset},
        )

    def sorted(self, found: Iterable[tuple[str, str, bool]]) -> tuple[Edges, Edges]:
        """Return the direct and the indirect edges of an answer, in the truth's terms."""
        direct: Edges = set()
        indirect: Edges = set()
        for target, source, is_indirect in found:
            rows = f"{_dataset(target)}.*"
            edges = [(target, "<~", source), (rows, "<~", source)]
            known = [edge for edge in edges if edge in self._indirect]
            is_free = {(target, "<-", source), *edges} & self._free
            if not is_indirect and (target, "<-", source) in self._direct:
                direct.add((target, "<-", source))
            elif known:
                indirect.update(known)
            elif is_indirect and not is_free:
                indirect.add(edges[0])
            elif not is_free:
                direct.add((target, "<-", source))
        return direct, indirect


def _by_kind(lines: Iterable[str]) -> tuple[Edges, Edges]:
    edges = [tuple(line.split(" ")) for line in lines]
    return (
        {(target, way, source) for target, way, source in edges if way == "<-"},
        {(target, way, source) for target, way, source in edges if way == "<~"},
    )


def _dataset(column: str) -> str:
    return column.rpartition(".")[0]


def _score(client: Client, case: Case) -> dict[str, Score]:
    names, columns = Names(case), ColumnTruth(case)
    scores = {measure: Score() for measure in _MEASURES}
    for dataset in case.datasets:
        expected = {
            (dataset, way, other)
            for way in ("upstream", "downstream")
            for other in case.reachable(dataset, way) & set(case.datasets)
        }
        graph = _first(client, "/api/v1/lineage", names.nodes(dataset))
        scores["tables"].compare(_table_edges(names, dataset, graph), expected)
        if case.truth.columns is not None:
            graph = _first(client, "/api/v1/column-lineage", names.nodes(dataset))
            found = columns.sorted(_column_edges(names, dataset, graph))
            for measure, is_, should in zip(_MEASURES[1:], found, columns.of(dataset), strict=True):
                scores[measure].compare(is_, should)
    return scores


def _first(client: Client, path: str, nodes: Iterable[str]) -> list[dict[str, Any]]:
    """Return the first graph that a server has for one of a dataset's names."""
    return next((graph for node in nodes if (graph := client.graph(path, node))), [])


@contextmanager
def _headwater() -> Iterator[str]:
    """Run headwater on an empty database and yield its URL."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["serve", "--port", str(_PORT), "--database", str(Path(folder, "lineage.db"))]
        script = str(Path(sys.executable).with_name("headwater"))
        server = subprocess.Popen([script, *command], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            next(line for line in server.stdout if str(_PORT) in line)
            yield f"http://127.0.0.1:{_PORT}"
        finally:
            server.terminate()
            server.wait()


def _measure(url: str, show_failed: bool) -> None:
    client = Client(url)
    everything = cases()
    rejected = sum(not client.post(event) for case in everything for event in case.events)
    header = " ".join(f"{measure:>16}" for measure in _MEASURES)
    lines = [f"{'':38} {header}", f"{'':38}" + "  precision recall" * len(_MEASURES)]
    total = {measure: Score() for measure in _MEASURES}
    for case in everything:
        scores = _score(client, case)
        lines.append(_row(case.name, scores))
        for measure, score in scores.items():
            total[measure].true += score.true
            total[measure].false += score.false
            total[measure].missing += score.missing
            lines += [f"    {line}" for line in score.examples if show_failed]
    lines += [_row("total", total), f"{len(everything)} cases, {rejected} events rejected"]
    sys.stdout.write("\n".join(lines) + "\n")


def _row(name: str, scores: dict[str, Score]) -> str:
    return f"{name:38} " + " ".join(f"{scores[measure]!s:>16}" for measure in _MEASURES)


def main() -> None:
    """Score a server, and print precision and recall by case and in total."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--url", help="address of a server; by default, headwater is started")
    parser.add_argument("--failed", action="store_true", help="print false and missing edges")
    options = parser.parse_args()
    if options.url:
        _measure(options.url, options.failed)
        return
    with _headwater() as url:
        _measure(url, options.failed)


if __name__ == "__main__":
    main()
