"""Show the progress of stages, DAG runs and their tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich import progress
from rich.console import Console
from rich.table import Table
from rich.text import Text

from commands.airflow_api import TaskInstance

STYLES = {
    "success": "green",
    "failed": "bold red",
    "upstream_failed": "red",
    "running": "cyan",
    "skipped": "magenta",
}


class _State(progress.ProgressColumn):
    """The column with the state of a task of Airflow."""

    def render(self, task: progress.Task) -> Text:
        """Return the state in its color."""
        state = str(task.fields["state"])
        return Text(state, style=STYLES.get(state, "dim"))


class Progress:
    """A live display on a terminal; elsewhere, one line per change."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._stages: list[progress.TaskID] = []
        self._tasks: dict[tuple[str, str], progress.TaskID] = {}
        self._rows = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            _State(),
            progress.TimeElapsedColumn(),
            console=console,
            transient=True,
        )

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._rows.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self.console.is_terminal:
            self._rows.live.transient = kind is None  # keeps the display after an error
            self._rows.stop()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show a stage and measure its time."""
        if not self.console.is_terminal:
            self.console.print(f"{name} ...")
        self._stages.append(self._rows.add_task(name, total=1, state="running"))
        yield
        self._rows.update(self._stages[-1], state="success", completed=1)

    def show(self, dag: str, tasks: list[TaskInstance]) -> None:
        """Show the current states of a DAG run's tasks."""
        for task in tasks:
            key, state = (dag, task["task_id"]), task["state"] or "waiting"
            if key not in self._tasks:
                name = f"  {dag}.{task['task_id']}"
                self._tasks[key] = self._rows.add_task(name, start=False, total=1, state="waiting")
            row = self._rows.tasks[self._tasks[key]]
            if state != row.fields["state"] and not self.console.is_terminal:
                self.console.print(f"{row.description}: {state}")
            if task["start_date"] and row.start_time is None:
                self._rows.start_task(row.id)
            self._rows.update(row.id, state=state, completed=int(task["end_date"] is not None))

    def say(self, line: str) -> None:
        """Print a line that stays on the screen; markup in it is not interpreted."""
        self.console.print(line, soft_wrap=True, markup=False)

    def warn(self, line: str) -> None:
        """Print a line that stays on the screen."""
        self.console.print(f"  [yellow]{line}[/yellow]", soft_wrap=True)

    def timings(self) -> Table:
        """Return the table of the stages' times."""
        table = Table(title="Time", title_justify="left", box=None, pad_edge=False)
        table.add_column("stage")
        table.add_column("seconds", justify="right")
        rows = [self._rows.tasks[stage] for stage in self._stages]
        times = [(row.description, row.finished_time or 0) for row in rows]
        for name, seconds in [*times, ("total", sum(seconds for _, seconds in times))]:
            table.add_row(name, f"{seconds:.1f}", style="bold" if name == "total" else "")
        return table
