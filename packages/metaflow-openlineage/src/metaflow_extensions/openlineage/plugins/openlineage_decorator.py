"""The step decorator under the name that Metaflow's extensions require."""

from metaflow_openlineage._hooks import StepHooks as OpenLineageDecorator

__all__ = ["OpenLineageDecorator"]
