"""Runs of a project whose models write a table each, day by day."""

from __future__ import annotations

from typing import Any

from packages.headwater.tests.support.graphs import DAG, TASK

TABLES = {"orders": ("file|/in",), "daily": ("db|orders",), "report": ("db|daily",)}
"""The tables that the models read; each model writes the table of its name."""


def models_on_day(
    build: Any,
    day: int,
    failed: str | None = None,
    skipped: tuple[str, ...] = (),
    job: str = "shop",
) -> list[dict[str, Any]]:
    """Return a run of a project whose models write a table each from the one before."""
    run = f"{job}-{day}"

    def on_day(body: dict[str, Any]) -> dict[str, Any]:
        return body | {"eventTime": f"2025-11-{day}T06:00:00Z"}

    events = [on_day(build.run("START", run, job, "06:00:00", kind=DAG))]
    for model, reads in TABLES.items():
        if model not in skipped:
            events.append(
                on_day(
                    build.run(
                        "FAIL" if model == failed else "COMPLETE", f"{run}-{model}",
                        f"{job}.{model}", "06:00:00", parent=(run, job), kind=TASK,
                        reads=reads, writes=(f"db|{model}",),
                    )
                )
            )  # fmt: skip
    end = "FAIL" if failed else "COMPLETE"
    return [*events, on_day(build.run(end, run, job, "06:00:00", kind=DAG))]
