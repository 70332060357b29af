"""The lineage of a flow's run, in the process that launches its tasks.

A killed task process cannot send the end of its attempt (one try of a task), so the launcher does.
A task that sent it has recorded this in Metaflow's metadata (ENDED). `_unfinished` has tasks by
Metaflow's path: `run/step/task`.
"""

from __future__ import annotations

import atexit
import inspect
import json
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from headwater_client import RunRef
from headwater_client.git import git_location

from . import _facets as facets
from ._emit import Emitter
from ._names import FlowNames
from ._report import harmless
from ._settings import Settings
from ._task import ENDED, LOCATION, facets_of_run, metadata_of, owner, parameter_values

SHORT_TIMEOUT = 0.5  # timeout of tasks in seconds if the backend failed in the launcher


class TaskDied(Exception):
    """A task's process was killed or could not start."""


class LauncherStopped(KeyboardInterrupt):
    """The launcher was terminated, or ended before its flow."""


@dataclass
class FlowRun:
    """The lineage of one run: its start and end, and the missing ends of killed attempts."""

    settings: Settings
    flow: Any
    run_id: str
    flow_datastore: Any

    def __post_init__(self) -> None:
        """Compute the names of the run and its git location; nothing is sent yet."""
        settings = self.settings
        self._names = FlowNames(settings.namespace, self.flow.name, self.run_id, settings.branch)
        self._ref = self._names.flow_run()
        self._emitter = Emitter(self.settings.timeout)
        file = Path(inspect.getfile(type(self.flow))).resolve()
        self._location: Mapping[str, Any] = git_location(file) or {}
        self._job_facets: facets.JobFacets = {}
        self._metadata = self.flow_datastore.metadata
        self._unfinished: dict[str, Any] = {}  # launched tasks that have not yet succeeded, by path
        self._ended = False

    def start(self) -> None:
        """Emit START, and make sure that an end follows."""
        code, with_code = type(self.flow), self.settings.source_code
        source_facets = facets.source(code, self._location, with_code=with_code)
        self._job_facets = {**facets.job("FLOW", owner()), **source_facets}
        self._emit("START")
        atexit.register(self.finish, LauncherStopped("the launcher ended before the flow did"))
        is_main_thread = threading.current_thread() is threading.main_thread()
        if is_main_thread and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _interrupt)

    def _emit(
        self, state: facets.State, extra: facets.RunFacets | None = None, task: RunRef | None = None
    ) -> None:
        """Emit an event of the flow's run, or of one attempt of a task."""
        run_facets = facets_of_run(self.settings, self.run_id, self._metadata) | (extra or {})
        if parent := self._ref if task else self.settings.parent:
            run_facets |= facets.parent(parent, self.settings.root or parent)
        job_facets = facets.job("STEP", owner()) if task else self._job_facets
        self._emitter.emit(facets.run_event(state, task or self._ref, run_facets, job_facets))

    def launch(self, task: Any, environ: dict[str, str]) -> None:
        """Prepare an attempt: its upstream tasks have succeeded, its previous attempt failed.

        `environ` is the environment of its process. If the backend has used up more than half of
        this process's patience, the task waits for it only briefly. If the previous attempt was
        killed, its missing end is sent.
        """
        environ[LOCATION] = json.dumps(self._location)
        if self._emitter.patience < self.settings.timeout / 2:
            environ["METAFLOW_OPENLINEAGE_TIMEOUT"] = str(min(SHORT_TIMEOUT, self.settings.timeout))
        for path in task.input_paths or ():
            self._unfinished.pop(path, None)
        self._unfinished[f"{task.run_id}/{task.step}/{task.task_id}"] = task
        if task.retries > 0:
            self._end_if_missing(task, task.retries - 1, "FAIL")

    @harmless
    def finish(self, exception: BaseException | None) -> None:
        """Emit the end of the run once, after the ends of killed attempts.

        It is also called at the exit of the process, with LauncherStopped, if Metaflow did not.
        """
        if self._ended:
            return
        self._ended = True
        state = facets.end_state(exception) if exception else "COMPLETE"
        if exception:
            for task in self._unfinished.values():
                self._end_if_missing(task, task.retries, state)
        parameters = self._parameters() or {}
        self._emit(state, {**facets.parameters(parameters), **facets.error(exception)})
        self._emitter.close()

    @harmless
    def _parameters(self) -> dict[str, object]:
        """Return the parameters, which Metaflow stores in a separate task, also in resumed runs."""
        path = (self.flow.name, self.run_id, "_parameters")
        tasks = self._metadata.get_object("step", "task", {}, None, *path)
        if not tasks:
            return {}
        store = self.flow_datastore.get_task_datastore(*path[1:], str(tasks[0]["task_id"]))
        return parameter_values(self.flow, store)

    @harmless
    def _end_if_missing(self, task: Any, attempt: int, state: facets.State) -> None:
        """Emit the end of an attempt whose process did not emit it, according to its metadata."""
        step, task_id = task.step, task.task_id
        metadata = metadata_of(self._metadata, self._names.flow, self.run_id, step, task_id)
        if ENDED.format(attempt=attempt) not in metadata:
            error = TaskDied("the task's process was killed or could not start")
            self._emit(state, facets.error(error), self._names.attempt(step, task_id, attempt))


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """End a terminated launcher as Ctrl-C does, so that it stops its tasks and emits the end."""
    raise LauncherStopped("the launcher was terminated")
