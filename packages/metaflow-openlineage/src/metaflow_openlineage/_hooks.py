"""Metaflow's hooks, which delegate to FlowRun and TaskRun."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from metaflow.decorators import StepDecorator

from headwater_client.capture import capturing, is_on
from headwater_client.parents import child_environment

from . import _helpers
from ._artifacts import Options
from ._report import harmless, warn
from ._settings import Settings

if TYPE_CHECKING:
    from ._launcher import FlowRun
    from ._task import TaskRun


class StepHooks(StepDecorator):
    """Metaflow's hooks in the launching process (`runtime_…`) and in task processes (`task_…`)."""

    name = "openlineage"
    defaults: dict[str, Any] = {
        "models": None,
        "include": [],
        "exclude": [],
        "capture": True,
    }

    _flow_run: FlowRun | None = None  # shared by the steps of the run this process launches
    _task_run: TaskRun | None = None
    _flow_datastore: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        if (
            "spin" in sys.argv[1:] and "spin-step" not in sys.argv[1:]
        ):  # Metaflow calls no hooks of other packages
            warn("spin reports no lineage: nothing is sent")

    def step_init(self, flow: Any, graph: Any, step_name: str, *rest: Any) -> None:
        """Store the flow's datastore, because a resumed run reads tasks of another run."""
        _decorators, _environment, self._flow_datastore, *_ = rest

    @harmless
    def runtime_init(self, flow: Any, graph: Any, package: Any, run_id: Any) -> None:
        """Start the run; Metaflow calls this once per step."""
        settings = Settings.from_env(os.environ)
        if StepHooks._flow_run is None and not settings.disabled:
            from ._launcher import FlowRun

            StepHooks._flow_run = FlowRun(settings, flow, str(run_id), self._flow_datastore)
            StepHooks._flow_run.start()

    @harmless
    def runtime_step_cli(self, cli_args: Any, *rest: Any) -> None:
        """Prepare the launch of a task."""
        if StepHooks._flow_run is not None:
            StepHooks._flow_run.launch(cli_args.task, cli_args.env)

    def runtime_finished(self, exception: BaseException | None) -> None:
        """Finish the run; Metaflow calls this once per step."""
        if StepHooks._flow_run is not None:
            StepHooks._flow_run.finish(exception)

    @harmless
    def task_pre_step(self, step_name: str, *hook: Any) -> None:
        """Start the task's run before the step."""
        from ._task import TaskRun

        store, _metadata, run_id, task_id, flow, graph, attempt, _retries, _ubf, inputs = hook
        settings, options = Settings.from_env(os.environ), self._options()
        if settings.disabled:
            return
        where = (self._flow_datastore, str(run_id), step_name, str(task_id), attempt)
        task = TaskRun(settings, options, flow, *where, store, list(inputs or ()))
        # Runs started by this process become children of the task.
        os.environ.update(child_environment(task.ref, task.root))
        _helpers.enter(task)
        self._task_run = task
        task.start(graph[step_name])

    def _options(self) -> Options:
        names = ("models", "include", "exclude")
        return Options(**{name: self.attributes[name] for name in names})

    def task_decorate(
        self, step_func: Callable[..., Any], flow: Any, graph: Any, *rest: Any
    ) -> Callable[..., Any]:
        """Watch the inputs of a join, and what libraries read and write."""
        task = self._task_run
        if task is None:
            return step_func
        is_join = graph[task.step].type == "join"
        captures = self.attributes["capture"] and is_on()

        @functools.wraps(step_func)
        def watched(*inputs: Any) -> Any:
            for branch in inputs[0] if is_join else ():
                harmless(task.watch)(branch)
            with capturing(task.capture) if captures else contextlib.nullcontext():
                return step_func(*inputs)

        return watched

    def task_exception(self, exception: BaseException, *rest: Any) -> None:
        """Store the exception of a step; another decorator may still handle it."""
        if self._task_run is not None:
            self._task_run.error = exception

    def task_finished(self, step_name: str, flow: Any, graph: Any, is_ok: Any, *rest: Any) -> None:
        """End the task's run after its artifacts are stored, also on Ctrl-C."""
        if self._task_run is not None:
            with contextlib.suppress(Exception):  # @timeout's alarm may go off late
                self._task_run.end(ok=is_ok, error=self._task_run.error or sys.exc_info()[1])
            _helpers.enter(None)
