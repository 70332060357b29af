"""The decorator of a flow class."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import Any

from metaflow.decorators import _base_step_decorator
from metaflow.user_decorators.user_flow_decorator import FlowMutator

from ._hooks import StepHooks
from ._settings import Settings


class openlineage(FlowMutator):
    """Emit OpenLineage events for the flow, its steps and the artifacts between them.

    `models` lists the artifacts that are models, by default `model` and those ending in `_model`.
    `exclude` lists artifacts that are not datasets, `include` scalars that are datasets. What known
    libraries read and write in steps is reported unless `capture` is False.
    """

    def init(
        self,
        *,
        models: Iterable[str] | None = None,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        capture: bool = True,
    ) -> None:
        """Store the decorator's arguments."""
        self._options = {
            "models": None if models is None else list(models),
            "include": list(include),
            "exclude": list(exclude),
            "capture": capture,
        }

    def mutate(self, mutable_flow: Any) -> None:
        """Add the hooks to every step, unless lineage is disabled."""
        if Settings.from_env(os.environ).disabled:
            return
        hooks = functools.partial(_base_step_decorator, StepHooks)
        for _, step in mutable_flow.steps:
            step.add_decorator(hooks, deco_kwargs=self._options, duplicates=step.IGNORE)
