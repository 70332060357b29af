"""Metaflow's hooks, which delegate to FlowRun and TaskRun.

The launcher is the process that starts a process for each task; a *join* is a step that gets the
results of several branches. Functions marked `harmless` turn errors into warnings.
"""
# Metaflow declares its context hooks as None.
# mypy: disable-error-code="override"

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from metaflow.decorators import StepDecorator
from metaflow.metaflow_current import current

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
    """Metaflow's hooks in the launching process (`runtime_…`) and in task processes (`task_…`).

    Metaflow 2.19.23 and newer call the hooks that end in `_ctx`, whose arguments are in
    `system_ctx`. Older versions call those without it.
    """

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

    def step_init_ctx(self, step_name: str) -> None:
        """Store the flow's datastore, because a resumed run reads tasks of another run."""
        self._flow_datastore = self.system_ctx.flow_datastore

    def step_init(self, flow: Any, graph: Any, step_name: str, *rest: Any) -> None:
        """Store the flow's datastore."""
        _decorators, _environment, self._flow_datastore, *_ = rest

    def runtime_init_ctx(self, step_name: str) -> None:
        """Start the run; Metaflow calls this once per step."""
        self._start_run(self.system_ctx.flow, self.system_ctx.run_id)

    def runtime_init(self, flow: Any, graph: Any, package: Any, run_id: Any) -> None:
        """Start the run."""
        self._start_run(flow, run_id)

    @harmless
    def _start_run(self, flow: Any, run_id: Any) -> None:
        """Start the run of the flow, once per process, in the process that launches its tasks."""
        settings = _settings()
        if StepHooks._flow_run is None and not settings.disabled:
            from ._launcher import FlowRun

            StepHooks._flow_run = FlowRun(settings, flow, str(run_id), self._flow_datastore)
            StepHooks._flow_run.start()

    def runtime_step_cli_ctx(self, step_name: str, cli_args: Any) -> None:
        """Prepare the launch of a task."""
        self.runtime_step_cli(cli_args)

    @harmless
    def runtime_step_cli(self, cli_args: Any, *rest: Any) -> None:
        """Prepare the launch of a task."""
        if StepHooks._flow_run is not None:
            StepHooks._flow_run.launch(cli_args.task, cli_args.env)

    def runtime_finished_ctx(self, step_name: str, exception: BaseException | None) -> None:
        """Finish the run; Metaflow calls this once per step."""
        self.runtime_finished(exception)

    def runtime_finished(self, exception: BaseException | None) -> None:
        """Finish the run."""
        if StepHooks._flow_run is not None:
            StepHooks._flow_run.finish(exception)

    def task_pre_step_ctx(self, step_name: str) -> None:
        """Start the task's run before the step."""
        task = self.system_ctx
        where = (step_name, task.task_datastore, task.run_id, task.task_id, task.flow, task.graph)
        self._start_task(*where, task.retry_count, task.inputs)

    def task_pre_step(self, step_name: str, *hook: Any) -> None:
        """Start the task's run before the step."""
        store, _metadata, run_id, task_id, flow, graph, attempt, _retries, _ubf, inputs = hook
        self._start_task(step_name, store, run_id, task_id, flow, graph, attempt, inputs)

    @harmless
    def _start_task(
        self,
        step_name: str,
        store: Any,
        run_id: Any,
        task_id: Any,
        flow: Any,
        graph: Any,
        attempt: int,
        inputs: Any,
    ) -> None:
        """Start the run of an attempt of a task, in the process that runs it.

        `attempt` counts from 0; `inputs` are the datastores of the tasks before.
        """
        from ._task import TaskRun

        settings, options = _settings(), self._options()
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

    def task_decorate_ctx(self, step_name: str, step_func: Callable[..., Any]) -> Any:
        """Watch the inputs of a join, and what libraries read and write."""
        return self.task_decorate(step_func, self.system_ctx.flow, self.system_ctx.graph)

    def task_decorate(
        self, step_func: Callable[..., Any], flow: Any, graph: Any, *rest: Any
    ) -> Callable[..., Any]:
        """Watch the inputs of a join, and what libraries read and write.

        Return the function that Metaflow runs as the step. The inputs of a join are flow objects,
        one for each branch.
        """
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

    def task_step_completed_ctx(
        self, step_name: str, exception: BaseException | None = None
    ) -> None:
        """Store the exception of a step; another decorator may still handle it."""
        if exception is not None:
            self.task_exception(exception)

    def task_exception(self, exception: BaseException, *rest: Any) -> None:
        """Store the exception of a step; another decorator may still handle it."""
        if self._task_run is not None:
            self._task_run.error = exception

    def task_finished_ctx(self, step_name: str, is_task_ok: bool | None) -> None:
        """End the task's run after its artifacts are stored, also on Ctrl-C."""
        if self._task_run is not None:
            with contextlib.suppress(Exception):  # @timeout's alarm may go off late
                error = self._task_run.error or sys.exc_info()[1]
                self._task_run.end(ok=is_task_ok, error=error)
            _helpers.enter(None)

    def task_finished(self, step_name: str, flow: Any, graph: Any, is_ok: Any, *rest: Any) -> None:
        """End the task's run."""
        self.task_finished_ctx(step_name, is_ok)


def _settings() -> Settings:
    """Return the settings, with the branch of `@project` if branches are kept apart."""
    settings, get = Settings.from_env(os.environ), current.get
    project, branch = get("project_name"), get("branch_name")
    if settings.separate_branches and project:
        return replace(settings, branch=f"{project}.{branch}")
    return settings
