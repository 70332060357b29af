"""The decorator of a flow class."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import Any

from metaflow.decorators import _base_step_decorator

from ._hooks import StepHooks
from ._mutator import FlowMutator, add_to_steps
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
        if not Settings.from_env(os.environ).disabled:
            hooks = functools.partial(_base_step_decorator, StepHooks)
            add_to_steps(mutable_flow, hooks, StepHooks.name, self._options)
