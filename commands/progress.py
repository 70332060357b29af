"""Show the progress of stages, DAG runs and their tasks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
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


@dataclass
class Progress:
    """A live display on a terminal; elsewhere, one line per change."""

    console: Console
    stages: list[tuple[str, float]] = field(default_factory=list)
    _stage: str = ""
    _started: float = 0.0
    _runs: dict[str, list[TaskInstance]] = field(default_factory=dict)
    _live: Live | None = None
    _spinner: Spinner = field(default_factory=lambda: Spinner("dots"))
    _printed: set[tuple[str, str, str]] = field(default_factory=set)

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live = Live(get_renderable=self._render, console=self.console, transient=True)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.transient = kind is None  # keeps the display after an error
            self._live.stop()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show a stage and measure its time."""
        self._stage = name
        if not self._live:
            self.console.print(f"{name} ...")
        self._started = time.monotonic()
        yield
        self.stages.append((name, time.monotonic() - self._started))
        self._stage = ""

    def show(self, dag: str, tasks: list[TaskInstance]) -> None:
        """Show the current states of a DAG run's tasks."""
        self._runs[dag] = tasks
        if self._live:
            return
        for task in tasks:
            change = (dag, task["task_id"], task["state"] or "none")
            if task["state"] and change not in self._printed:
                self._printed.add(change)
                self.console.print(f"  {dag}.{task['task_id']}: {task['state']}")

    def warn(self, line: str) -> None:
        """Print a line that stays on the screen."""
        self.console.print(f"  [yellow]{line}[/yellow]", soft_wrap=True)

    def timings(self) -> Table:
        """Return the table of the stages' times."""
        table = Table(title="Time", title_justify="left", box=None, pad_edge=False)
        table.add_column("stage")
        table.add_column("seconds", justify="right")
        for name, seconds in self.stages:
            table.add_row(name, f"{seconds:.1f}")
        table.add_row("total", f"{sum(s for _, s in self.stages):.1f}", style="bold")
        return table

    def _render(self) -> RenderableType:
        parts: list[RenderableType] = [
            Text.assemble(("✔ ", "green"), name, (f"  {seconds:.1f} s", "dim"))
            for name, seconds in self.stages
        ]
        if self._stage:
            elapsed = f"  {time.monotonic() - self._started:.0f} s"
            self._spinner.update(text=Text.assemble(self._stage, (elapsed, "dim")))
            parts.append(self._spinner)
        if self._runs:
            parts.append(self._table())
        return Group(*parts)

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for column in ("", "task", "state", "seconds"):
            table.add_column(column, justify="right" if column == "seconds" else "left")
        for dag, tasks in self._runs.items():
            for n, task in enumerate(tasks):
                state = task["state"] or "waiting"
                table.add_row(
                    Text(dag if n == 0 else "", style="bold"),
                    task["task_id"],
                    Text(state, style=STYLES.get(state, "dim")),
                    _seconds(task),
                )
        return table


def _seconds(task: TaskInstance) -> str:
    if not task["start_date"]:
        return ""
    end = datetime.fromisoformat(task["end_date"]) if task["end_date"] else datetime.now(UTC)
    return f"{(end - datetime.fromisoformat(task['start_date'])).total_seconds():.1f}"
