"""LineageQA: questions about lineage with known answers, scored without a model.

Each question of lineage_qa.yaml gives the calls of headwater's tools for agents. The benchmark
makes them and compares the last answer with the expected one. The part `truth` asks, about each
case of the truth suite, what datasets are computed from and which columns are safe to drop. Tokens
are characters / 4.

Usage: python -m benchmarks.lineage_qa [--failed]
"""

from __future__ import annotations

import gzip
import json
import lzma
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from headwater.graph.nodes import Node, node_id
from headwater.log import Entry, EventLog, entry_of
from headwater.plugins.agents._reply import Context
from headwater.plugins.agents.tools import call
from headwater.projection.live import Batch, Live
from headwater.query.models import Json
from headwater.query.registry import ask, load_queries
from headwater.server.sample import PRESENT
from packages.headwater.tests.truth.cases import Case, cases

_ROOT = Path(__file__).parent.parent
_PACKAGE = _ROOT / "packages" / "headwater"
_SHARED = _ROOT.parent / "shared" / "data" / "openlineage-events"
_QUESTIONS = Path(__file__).with_suffix(".yaml")
_CHARACTERS_PER_TOKEN = 4
_UNKNOWN = {"unknown", "not_reported"}
_LATER = 3_600
"""The questions are asked so many seconds after the newest event, or at the sample's present."""
_FILES = {
    "sample": _PACKAGE / "src" / "headwater" / "server" / "sample.jsonl.gz",
    "pipeline": _PACKAGE / "tests" / "support" / "pipeline.jsonl.xz",
    "databricks": _SHARED / "handmade/entropy-data+openlineage-visualizer/public__test-events.json",
    "metaflow": _SHARED / "this-stack" / "metaflow219-spike-ok2.jsonl",
}
OWN_PARTS = ("sample", "pipeline", "truth")
"""The parts whose events are in this repository."""


@dataclass(frozen=True)
class Score:
    """The result of a question: the number of calls and the length of each answer."""

    part: str
    ask: str
    calls: int
    characters: tuple[int, ...]
    is_unknown: bool
    """True if the expected answer contains `unknown` or `not_reported`."""
    problem: str
    """Empty if the answer is as expected."""

    @property
    def tokens(self) -> list[float]:
        """Return the approximate number of tokens of each answer."""
        return [size / _CHARACTERS_PER_TOKEN for size in self.characters]


TRUTH = "truth"
"""The part with the questions about the truth suite."""
_DATASETS = 3
"""Datasets of a case about which the part asks."""


def scores(parts: Iterable[str]) -> Iterator[Score]:
    """Yield the scores of the questions of some parts."""
    questions = yaml.safe_load(_QUESTIONS.read_text())
    for part in parts:
        if part == TRUTH:
            yield from (score for case in cases() for score in _scores_of_case(case))
            continue
        entries = [entry_of(raw) for raw in _events(_FILES[part])]
        newest = max(entry.event.time for entry in entries) / 1e6
        with _answering(entries, max(PRESENT.timestamp(), newest + _LATER)) as (_, context):
            for question in questions[part]:
                yield _score(part, question, context)


def _scores_of_case(case: Case) -> Iterator[Score]:
    """Yield the scores of the questions about a case, except those that are known to be wrong."""
    entries = [entry_of(json.dumps(event).encode()) for event in case.events]
    truth = case.truth
    with _answering(entries, truth.now.timestamp()) as (live, context):
        ids = _ids_by_name(live)
        if not truth.known_wrong.keys() & {"edges", "trees"}:
            for name in case.datasets[:_DATASETS]:
                sources = case.reachable(name, "upstream")
                if name in ids and name not in _feeding_themselves(case):
                    found = {"upstream": sorted(sources)} if sources else {"status": "not_reported"}
                    call_ = {"upstream": {"node": ids[name], "depth": 100}}
                    ask_ = f"What is {name} computed from?"
                    yield _score(TRUTH, _question(ask_, call_, found), context)
        if "verdicts" not in truth.known_wrong:
            for column, verdict in truth.verdicts.drop.items():
                name, _, field = column.rpartition(".")
                if name in ids:
                    call_ = {"downstream": {"node": ids[name], "column": field}}
                    ask_ = f"Is {column} safe to drop?"
                    yield _score(TRUTH, _question(ask_, call_, {"drop": verdict}), context)


def _feeding_themselves(case: Case) -> set[str]:
    """Return the datasets that a job reads and writes, which are upstream of themselves."""
    edges = case.edges("task")
    return {name for job, way, name in edges if (job, _OTHER[way], name) in edges}


_OTHER = {"reads": "writes", "writes": "reads"}


def _question(text: str, call_: Json, expected: Json) -> Json:
    return {"ask": text, "calls": [call_], "expect": expected}


def _ids_by_name(live: Live) -> dict[str, str]:
    """Return the ids of the datasets by all of their names, if a name has one id."""
    found: dict[str, set[str]] = defaultdict(set)
    with live.reading() as state:
        for name in state.identity:
            found[name.name].add(node_id(Node.of_dataset(state.identity.primary(name))))
    return {name: next(iter(ids)) for name, ids in found.items() if len(ids) == 1}


@contextmanager
def _answering(entries: list[Entry], now: float) -> Iterator[tuple[Live, Context]]:
    """Yield a log with some events at a time, and the context of tools that query it."""
    with tempfile.TemporaryDirectory() as folder:
        log = EventLog(f"sqlite:///{folder}/log.db")
        live = Live(log, clock=partial(float, now))
        live.ingest(Batch(entries))

        def answer(name: str, parameters: Mapping[str, Any]) -> Any:
            return ask(live, load_queries()[name], parameters)

        yield live, Context(answer, "http://localhost:9002")
        log.close()


def available_parts() -> tuple[str, ...]:
    """Return the parts whose events exist on this machine."""
    return (*(part for part, path in _FILES.items() if path.exists()), TRUTH)


def _events(path: Path) -> list[bytes]:
    """Return the events of a file of JSON lines, perhaps compressed."""
    text = path.read_bytes()
    if path.suffix == ".gz":
        text = gzip.decompress(text)
    elif path.suffix == ".xz":
        text = lzma.decompress(text)
    return [line for line in text.splitlines() if line.strip()]


def _score(part: str, question: Mapping[str, Any], context: Context) -> Score:
    sizes: list[int] = []
    answer: dict[str, Any] = {}
    text = ""
    for item in question["calls"]:
        ((tool, arguments),) = item.items()
        known = {
            name: _first_id(answer) if value == "$id" else value
            for name, value in arguments.items()
        }
        text = call(tool, known, context)
        answer = json.loads(text)
        sizes.append(len(text))
    problem = "; ".join(_problems(answer, text, question["expect"]))
    expected = {*map(str, question["expect"].values())}
    is_unknown = not expected.isdisjoint(_UNKNOWN)
    return Score(part, question["ask"], len(sizes), tuple(sizes), is_unknown, problem)


def _first_id(answer: Mapping[str, Any]) -> str:
    lists = (value for value in answer.values() if isinstance(value, list) and value)
    return str(next(lists)[0]["id"])


def _problems(answer: Mapping[str, Any], text: str, expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences of an answer from the expected one."""
    for name, value in expected.items():
        if name == "contains":
            yield from (f"{part!r} is missing" for part in value if str(part) not in text)
        elif name == "lacks":
            yield from (f"{part!r} is there" for part in value if str(part) in text)
        elif isinstance(value, list):
            found = [_label(item) for item in answer.get(name, [])]
            if not _are_same(found, value):
                yield f"{name}: {found}"
        elif answer.get(name) != value:
            yield f"{name}: {answer.get(name)!r}"


def _label(item: Any) -> str:
    if isinstance(item, str):
        return item
    return f"{item['id']}#{item['column']}" if "column" in item else str(item["id"])


def _are_same(found: list[str], expected: list[str]) -> bool:
    """Return True if each expected end of an id is that of one found, and none is left."""
    left = list(found)
    for end in sorted(expected, key=len, reverse=True):  # the ends of longer names are names too
        match = next(
            (text for text in left if text.endswith((f":{end}", f"/{end}", f".{end}"))), None
        )
        if match is None:
            return False
        left.remove(match)
    return not left


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main() -> None:
    """Print one line per part, and with --failed the questions with a wrong answer."""
    found = list(scores(available_parts()))
    _print(f"{'part':12}{'questions':>10}{'correct':>9}{'calls':>7}{'tokens':>8}{'most':>7}")
    for part in (*dict.fromkeys(score.part for score in found), "all"):
        chosen = [score for score in found if part in (score.part, "all")]
        correct = sum(not score.problem for score in chosen) / len(chosen)
        calls = median(score.calls for score in chosen)
        tokens = [size for score in chosen for size in score.tokens]
        figures = f"{correct:>9.0%}{calls:>7g}{median(tokens):>8.0f}{max(tokens):>7.0f}"
        _print(f"{part:12}{len(chosen):>10}{figures}")
    _print("calls: median per question; tokens: median and most per answer, characters / 4")
    if "--failed" in sys.argv:
        for score in found:
            if score.problem:
                _print(f"{score.part}: {score.ask} {score.problem[:600]}")


if __name__ == "__main__":
    main()
