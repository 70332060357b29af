"""Logs and answers for the tests of retention."""

from __future__ import annotations

from typing import Any, Literal

from hypothesis import strategies as st
from sqlalchemy import update

from headwater.datasets.removal import removal_of
from headwater.datasets.schemas import drift
from headwater.graph.nodes import Node, node_id
from headwater.lineage.queries import columns_answer, edges_answer, tree_answer
from headwater.log import Entry, EventLog, schema
from headwater.plugin import parts
from headwater.plugins.alerts._causes import Changed
from headwater.plugins.alerts.rules import Rule
from headwater.plugins.provenance.queries import provenance_answer
from headwater.plugins.tags.queries import tags_answer
from headwater.plugins.trust.gate import gate_answer
from headwater.projection import State
from headwater.projection.live import Live
from headwater.projection.past import Moment
from headwater.query.parameters import LevelName
from packages.headwater.tests.conftest import Build
from packages.headwater.tests.support.graphs import state_partition_sources

_WAYS: tuple[Literal["up", "down"], ...] = ("up", "down")
_LEVELS: tuple[LevelName, ...] = ("query", "task", "pipeline")
_KINDS: tuple[Literal["data", "control", "direct"], ...] = ("data", "control", "direct")
_POLICY = '{"fresh": false}'  # intervals between runs may change
_FIND = {kind: part.load() for kind, part in parts("alerts").items()}
SECOND = 1_000_000
DAY = 86_400 * SECOND
BASE = 1_763_712_000 * SECOND  # 2025-11-21T08:00:00Z


def _answers(state: State) -> dict[str, Any]:
    """Return the answers of queries about a state: graph, trees, columns, tags, provenance, …"""
    nodes = [node_id(Node.of_dataset(name)) for name in sorted(set(state.identity))]
    return {
        "edges": [edges_answer(state, level, kind) for level in _LEVELS for kind in _KINDS],
        "provenance": [provenance_answer(state, n, level="query") for n in nodes],
        "trees": [tree_answer(state, node, "both") for node in nodes],
        "columns": [
            columns_answer(state, n, direction=way) for n in nodes for way in ("up", "down")
        ],
        "tags": tags_answer(state),
        "drift": [drift(state, name) for name in sorted(set(state.identity))],
        "removals": [removal_of(state, name) for name in sorted(set(state.identity))],
        "jobs": {ref: (job.first, job.last, job.facets.plain()) for ref, job in state.jobs.items()},
        "datasets": {
            name: (record.first, record.last, record.facets.plain())
            for name, record in state.datasets.items()
        },
    }


def violated_rules(live: Live, moment: Moment | None = None) -> list[set[str]]:
    """Return the rules of the gate that each dataset violates."""
    with live.reading(moment) as state:
        nodes = [node_id(Node.of_dataset(name)) for name in sorted(set(state.identity))]
        gated = [gate_answer(state, [node], _POLICY)["datasets"][0] for node in nodes]
        return [{violation["kind"] for violation in item["violations"]} for item in gated]


def set_arrival(log: EventLog, time: int, *hashes: str) -> None:
    """Set the arrival time of the events with these hashes; of all events if there are none."""
    table = schema.events
    chosen = table.c.hash.in_(hashes) if hashes else table.c.seq > 0
    with log.writing() as connection:
        connection.execute(update(table).where(chosen).values(received_at=time))


def answers_now(live: Live, moment: Moment | None = None) -> dict[str, Any]:
    """Return answers about the present, or about a moment."""
    with live.reading(moment) as state:
        return _answers(state)


def alerts_now(live: Live, moment: Moment | None = None) -> set[str]:
    """Return the keys of all alerts, except those about intervals and shares of runs."""
    with live.reading(moment) as state:
        changed = Changed(state.runs.values(), sorted(set(state.identity)))
        return {
            key
            for kind in ("failed", "quality", "schema", "lost")
            for key, _ in _FIND[kind](state, Rule(name="r", kind=kind, actions=[]), changed)
        }


@st.composite
def history(draw: st.DrawFn) -> list[Entry]:
    """Generate many runs of few jobs and datasets within a minute, and a few events of any kind."""
    names = st.sampled_from(("db|a", "db|b", "file|/a", "s3://b|k"))
    runs = st.tuples(
        st.integers(0, 2),  # job
        st.sampled_from(("COMPLETE", "COMPLETE", "COMPLETE", "FAIL", "START")),
        st.lists(names, max_size=2),
        st.lists(names, max_size=2),
        st.integers(0, 11),  # what else the event has
    )
    bodies = []
    for n, (job, type_, reads, writes, more) in enumerate(
        draw(st.lists(runs, min_size=15, max_size=45))
    ):
        facets: dict[str, Any] = {}
        if more in (1, 2):
            facets["parent"] = Build.run("START", f"dag-{n - n % more}", "dag", "08:00:00")
            facets["parent"] = {key: facets["parent"][key] for key in ("run", "job")}
        if more == 3:
            run = {"runId": f"run-{n // 2}"}
            of_job = {"namespace": "demo", "name": f"job-{n % 3}"}
            facets["jobDependencies"] = {"upstream": [{"run": run, "job": of_job}]}
        body = Build.run(
            type_, f"run-{n}", f"job-{job}", f"08:00:{n:02}", reads=tuple(reads),
            writes=tuple(writes), facets=facets,
        )  # fmt: skip
        if more == 4:
            body["job"]["facets"]["documentation"] = {"description": f"by {n}"}
        _add_facets(body, n, more)
        bodies.append(body)
    entries = [Build.entry(body) for body in bodies]
    return draw(st.permutations(entries)) if draw(st.booleans()) else entries


def _add_facets(body: dict[str, Any], number: int, more: int) -> None:
    """Add the facets of outputs that the number `more` selects."""
    if more == 11:
        state_partition_sources(body)
    for output in body["outputs"]:
        if more == 5:
            output["facets"]["ownership"] = {"owners": [{"name": f"team-{number}"}]}
        if more == 6:
            origin = {"namespace": "db", "name": "a", "field": "x"}
            lineage = {"fields": {"y": {"inputFields": [origin]}}}
            output["facets"]["columnLineage"] = lineage
        if more in (0, 1, 4, 7):
            output["facets"]["schema"] = _schema(number)
        if more in (8, 9):
            output["facets"]["lifecycleStateChange"] = _lifecycle(number, output["name"])
        if more == 7:
            output["outputFacets"] = {"icebergCommitReport": _appended(number)}
        if more == 10:
            part = {"identifier": str(number % 2), "dimensions": {}}
            condition = {"type": "partition", "partitions": [part]}
            output["outputFacets"] = {"subset": {"outputCondition": condition}}


def _lifecycle(number: int, name: str) -> dict[str, Any]:
    """Return a change of a table as a whole, such as DROP."""
    kind = ("DROP", "TRUNCATE", "CREATE", "RENAME", "OVERWRITE")[number % 5]
    former = {"namespace": "db", "name": "b" if name == "a" else "a"}
    return {"lifecycleStateChange": kind, "previousIdentifier": former}


def _schema(number: int) -> dict[str, Any]:
    """Return a schema of one of two producers; one of them reports nested fields."""
    nested = [{"name": f"x{number % 3}", "type": "int"}]
    fields: list[dict[str, Any]] = [{"name": "a", "type": ("int", "long")[number // 4 % 2]}]
    if number % 5 == 0:
        fields.append({"name": "b", "type": "int"})
    if number % 2:
        fields.append({"name": "c", "type": "struct", "fields": nested})
    else:
        fields.append({"name": "c", "type": "struct"})
    return {"_producer": f"https://example.org/{number % 2}", "fields": fields}


def _appended(number: int) -> dict[str, Any]:
    """Return a commit report of a table that keeps its rows."""
    return {"commitMetrics": {"addedRecords": 1, "totalRecords": number + 2}}
