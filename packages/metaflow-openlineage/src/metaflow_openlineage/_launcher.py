"""One run of a flow, in the process that launches its tasks."""

from __future__ import annotations

import atexit
import inspect
import json
import re
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from metaflow.metaflow_git import get_repository_info

from . import _facets as facets
from ._emit import Emitter
from ._names import FlowNames, RunRef
from ._report import harmless
from ._settings import Settings
from ._task import ENDED, LOCATION, facets_of_run, metadata_of, owner, parameter_values

HURRIED = 0.5  # seconds a task waits for a backend that has already failed the launcher


class TaskDied(Exception):
    """The process of a task ended without a word: it was killed, or could not start."""


class LauncherStopped(KeyboardInterrupt):
    """The launcher was terminated, or ended before its flow did."""


@dataclass
class FlowRun:
    """The lineage of one run: its start, its end, and the ends of attempts that could not speak."""

    settings: Settings
    flow: Any
    run_id: str
    flow_datastore: Any

    def __post_init__(self) -> None:
        self._names = FlowNames(self.settings.namespace, self.flow.name, self.run_id)
        self._ref = self._names.flow_run()
        self._emitter = Emitter(self.settings.timeout)
        self._location = git_location(Path(inspect.getfile(type(self.flow))).resolve())
        self._job_facets: facets.JobFacets = {}
        self._metadata = self.flow_datastore.metadata
        self._unproven: dict[str, Any] = {}  # launched tasks that may not have succeeded, by path
        self._ended = False

    def start(self) -> None:
        """Emit START, and see to it that an end follows."""
        code, with_code = type(self.flow), self.settings.source_code
        described = facets.source(code, self._location, with_code=with_code)
        self._job_facets = {**facets.job("FLOW", owner()), **described}
        self._emit("START")
        atexit.register(self.finish, LauncherStopped("the launcher ended before the flow did"))
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _interrupt)

    def _emit(
        self, state: facets.State, more: facets.RunFacets | None = None, task: RunRef | None = None
    ) -> None:
        """Emit an event of the flow's run, or of an attempt at a task below it."""
        run_facets = facets_of_run(self.settings, self.run_id, self._metadata) | (more or {})
        if above := self._ref if task else self.settings.parent:
            run_facets |= facets.parent(above, self.settings.root or above)
        job_facets = facets.job("STEP", owner()) if task else self._job_facets
        self._emitter.emit(facets.run_event(state, task or self._ref, run_facets, job_facets))

    def launch(self, task: Any, environ: dict[str, str]) -> None:
        """An attempt is about to start: the tasks before it succeeded, its last attempt did not."""
        environ[LOCATION] = json.dumps(self._location)
        if self._emitter.patience < self.settings.timeout / 2:
            environ["METAFLOW_OPENLINEAGE_TIMEOUT"] = str(min(HURRIED, self.settings.timeout))
        for path in task.input_paths or ():
            self._unproven.pop(path, None)
        self._unproven[f"{task.run_id}/{task.step}/{task.task_id}"] = task
        if task.retries > 0:
            self._end_if_silent(task, task.retries - 1, "FAIL")

    @harmless
    def finish(self, exception: BaseException | None) -> None:
        """Emit the end of the run, once, after the ends of attempts that died."""
        if self._ended:
            return
        self._ended = True
        state = facets.failure(exception) if exception else "COMPLETE"
        if exception:
            for task in self._unproven.values():
                self._end_if_silent(task, task.retries, state)
        parameters = self._parameters() or {}
        self._emit(state, {**facets.parameters(parameters), **facets.error(exception)})
        self._emitter.close()

    @harmless
    def _parameters(self) -> dict[str, object]:
        """Metaflow keeps them with a task of their own, also in a resumed run."""
        path = (self.flow.name, self.run_id, "_parameters")
        tasks = self._metadata.get_object("step", "task", {}, None, *path)
        if not tasks:
            return {}
        store = self.flow_datastore.get_task_datastore(*path[1:], str(tasks[0]["task_id"]))
        return parameter_values(self.flow, store)

    @harmless
    def _end_if_silent(self, task: Any, attempt: int, state: facets.State) -> None:
        step, task_id = task.step, task.task_id
        known = metadata_of(self._metadata, self._names.flow, self.run_id, step, task_id)
        if ENDED.format(attempt=attempt) not in known:
            died = TaskDied("the task's process ended without a word: killed, or never started")
            self._emit(state, facets.error(died), self._names.attempt(step, task_id, attempt))


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """End a terminated launcher as Ctrl-C does, so that it stops its tasks and says so."""
    raise LauncherStopped("the launcher was terminated")


def git_location(file: Path) -> dict[str, str]:
    """The fields of `sourceCodeLocation` for a file; none without a repository with a remote."""
    known = get_repository_info(file.parent) or {}
    if not known.get("repo_url"):
        return {}
    command = ["git", "rev-parse", "--show-prefix"]
    asked = subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=False)
    repository = re.sub(r"^(\w+://)[^/@]*@", r"\1", str(known["repo_url"]))
    commit, path = str(known["commit_sha"]), asked.stdout.strip() + file.name
    return {
        "url": f"{repository.removesuffix('.git')}/blob/{commit}/{path}",
        "repoUrl": repository,
        "path": path,
        "version": commit,
        "branch": str(known["branch_name"]),
    }
