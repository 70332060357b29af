"""Answers to questions of trust, as JSON-ready values."""

from __future__ import annotations

import json
from typing import Annotated, Any

from throughline.errors import ConfigError
from throughline.graph.answers import Cursor, Limit, Name, generations_of
from throughline.graph.nodes import find_dataset
from throughline.graph.pages import Place, cut, paged
from throughline.graph.questions import Times, question
from throughline.projection import State
from throughline.trust.completeness import completeness
from throughline.trust.doctor import doctor
from throughline.trust.freshness import late
from throughline.trust.gate import gate
from throughline.trust.health import health
from throughline.trust.lateness import lateness
from throughline.trust.policy import Policy, policy_of


@question("health", Times.THEN)
def health_answer(state: State) -> dict[str, Any]:
    """What is wrong: failed and lost runs, late jobs, failed checks; and what nobody told."""
    return health(generations_of(state))


@question("freshness", Times.THEN)
def freshness_answer(state: State, limit: Limit = 1_000, cursor: Cursor = None) -> dict[str, Any]:
    """The jobs that are late against their own rhythm, or have stopped, by when they were due."""
    slow = late(state, state.jobs)
    return paged(*cut(("freshness",), slow, _place_of_late, limit, cursor))


def _place_of_late(late: dict[str, Any]) -> Place:
    return late["dueAt"].removesuffix("Z"), *late["job"].values()


@question("lateness", Times.THEN)
def lateness_answer(state: State, node: Name) -> dict[str, Any]:
    """When a node was due by its own rhythm, and what upstream failed, is lost, runs or is late.

    A dataset's rhythm is that of its writes. `distance` counts steps along edges, `since` is when
    what is wrong began; where nothing upstream is wrong, nobody started the job itself.
    """
    return lateness(state, node)


@question("completeness", Times.THEN)
def completeness_answer(state: State) -> dict[str, Any]:
    """The share of runs with inputs, outputs, columns, code and an end; what stands alone."""
    return completeness(generations_of(state))


@question("gate", Times.THEN)
def gate_answer(
    state: State,
    dataset: Annotated[list[str], "A dataset: an id or a short name; any number of them."],
    policy: Annotated[str | None, "The policy as JSON; without it the default one."] = None,
) -> dict[str, Any]:
    """Whether the provenance of datasets meets a policy, and where it does not."""
    wanted = Policy() if policy is None else policy_of(_decoded(policy))
    nodes = [find_dataset(state, text) for text in dataset]
    return gate(generations_of(state), nodes, wanted)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"policy: received {text[:80]!r}, expected JSON ({error})") from None


question("doctor")(doctor)
