"""Answers to questions of trust, as JSON-ready values."""

from __future__ import annotations

from typing import Any

from throughline.graph.answers import generations_of
from throughline.graph.questions import Times, question
from throughline.projection import State
from throughline.trust.completeness import completeness
from throughline.trust.doctor import doctor
from throughline.trust.freshness import late
from throughline.trust.health import health


@question("health", Times.THEN)
def health_answer(state: State) -> dict[str, Any]:
    """What is wrong: failed and lost runs, late jobs, failed checks; and what nobody told."""
    return health(generations_of(state))


@question("freshness", Times.THEN)
def freshness_answer(state: State) -> list[dict[str, Any]]:
    """The jobs that are late against their own rhythm, or have stopped."""
    return late(state, state.jobs)


@question("completeness", Times.THEN)
def completeness_answer(state: State) -> dict[str, Any]:
    """The share of runs with inputs, outputs, columns, code and an end; what stands alone."""
    return completeness(generations_of(state))


question("doctor")(doctor)
