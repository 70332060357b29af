"""Metaflow's base class of decorators that change a flow, in every supported version."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

try:
    from metaflow.user_decorators.user_flow_decorator import FlowMutator as FlowMutator
except ImportError:  # Metaflow 2.15
    if not TYPE_CHECKING:
        from metaflow.user_configs.config_decorators import CustomFlowDecorator

        class FlowMutator(CustomFlowDecorator):
            """The decorators of Metaflow 2.15 with the interface of later versions."""

            def __new__(cls, *args: Any, **kwargs: Any) -> Any:
                """Return the flow if the decorator has no arguments.

                Other decorators, such as `@project`, accept only flows.
                """
                decorator = super().__new__(cls)
                if args and isinstance(args[0], type):
                    decorator.__init__(args[0])
                    return args[0]
                return decorator

            def evaluate(self, mutable_flow: Any) -> None:
                """Change the flow."""
                self.mutate(mutable_flow)


def add_to_steps(
    flow: Any, decorator: Callable[..., Any], name: str, options: dict[str, Any]
) -> None:
    """Add a decorator to the steps that do not have it yet."""
    for _, step in flow.steps:
        if hasattr(step, "IGNORE"):
            step.add_decorator(decorator, deco_kwargs=options, duplicates=step.IGNORE)
        elif name not in {present.name for present in step.decorators}:  # Metaflow 2.15
            step.add_decorator(decorator, **options)
