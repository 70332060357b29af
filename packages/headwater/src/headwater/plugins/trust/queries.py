"""Answers to the queries about trust."""

from __future__ import annotations

from typing import Annotated

from headwater.documents import decoded
from headwater.health.late import late_jobs
from headwater.health.models import LateJob
from headwater.health.overdue import overdue_nodes
from headwater.plugins.trust._contract import captured_of, differences, updated
from headwater.plugins.trust._health import findings_of, health_answer, place_of_finding
from headwater.plugins.trust._lateness import lateness_answer
from headwater.plugins.trust._odcs import contract_of
from headwater.plugins.trust._problems import problems_answer
from headwater.plugins.trust.completeness import completeness_answer, pipelines_of
from headwater.plugins.trust.finding_states import ALL_OPEN, FindingStates, stored_states
from headwater.plugins.trust.gate import gate_answer
from headwater.plugins.trust.models import (
    CheckAnswer,
    HealthFinding,
    PipelineCompleteness,
    ProblemKind,
)
from headwater.projection import State
from headwater.query.models import Page, PartialPage
from headwater.query.pages import Place, cut, paged
from headwater.query.parameters import Cursor, Limit
from headwater.query.registry import Times, query

__all__ = [
    "check_answer", "findings_answer", "freshness_answer", "gate_answer", "pipelines_answer",
]  # fmt: skip

_MOST_FINDINGS = 2**32


@query("freshness", Times.THEN)
def freshness_answer(state: State, limit: Limit = 1_000, cursor: Cursor = None) -> Page[LateJob]:
    """Return the jobs that are late or have stopped, and the tasks of late pipelines, by due time.

    Failed and blocked jobs are not listed.
    """
    slow = late_jobs(state, state.jobs)
    return paged(*cut(("freshness",), slow, _place_of_late, limit, cursor))


@query("findings", Times.THEN, load=stored_states)
def findings_answer(
    state: State,
    kind: Annotated[ProblemKind | None, "Only this kind."] = None,
    limit: Limit = 1_000,
    cursor: Cursor = None,
    stored: FindingStates = ALL_OPEN,
) -> PartialPage[HealthFinding]:
    """Return failed and stale runs, late, stopped and mixed jobs, and failed checks, by kind.

    Runs are the newest finished ones of each job. Late jobs are sorted by due time, the other
    findings by time, newest first. `uncounted` nodes are not checked for lateness yet.
    """
    overdue = overdue_nodes(state, in_part=True)
    found = (item for item in findings_of(state, overdue) if kind in (None, item["kind"]))
    chosen, following = cut(("findings", kind), found, place_of_finding, limit, cursor)
    items = [stored.of(item, state.now) for item in chosen]
    return {"items": items, "next": following, "uncounted": overdue.uncounted}


@query("completeness/pipelines", Times.THEN)
def pipelines_answer(
    state: State, limit: Limit = 1_000, cursor: Cursor = None
) -> PartialPage[PipelineCompleteness]:
    """Return the pipelines with the lineage that their runs do not report, most gaps first.

    Pipelines with jobs that are not measured yet are missing; `uncounted` counts these jobs.
    """
    found = pipelines_of(state)
    about = ("completeness/pipelines",)
    items, following = cut(about, found.items, _place_of_pipeline, limit, cursor)
    return {"items": items, "next": following, "uncounted": found.uncounted}


def _place_of_pipeline(pipeline: PipelineCompleteness) -> Place:
    return _MOST_FINDINGS - len(pipeline["missing"]), pipeline["id"]


def _place_of_late(late: LateJob) -> Place:
    job = late["job"]
    return late["dueAt"].removesuffix("Z"), job["namespace"], job["name"]


@query("check", Times.THEN)
def check_answer(
    state: State,
    contract: Annotated[
        str | None,
        "The contract or Open Data Contract as JSON; without it, only the captured lineage is"
        " returned as a contract.",
    ] = None,
) -> CheckAnswer:
    """Compare the captured lineage with a contract.

    A long contract can be sent by POST, with the parameters as a JSON object.
    """
    declared = None if contract is None else contract_of(decoded(contract, "contract"))
    captured = captured_of(state, declared.level if declared else "task")
    findings = list(differences(state, declared, captured)) if declared else []
    new = updated(declared, captured)
    return {
        "passed": not findings,
        "findings": findings,
        "contract": {"level": new.level, **new.model_dump(exclude_defaults=True)},
    }


query("health", Times.THEN, load=stored_states)(health_answer)
query("problems", Times.THEN, load=stored_states)(problems_answer)
query("lateness", Times.THEN)(lateness_answer)
query("completeness", Times.THEN)(completeness_answer)
