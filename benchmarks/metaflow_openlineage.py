"""Measure the CPU time that metaflow-openlineage adds to a flow.

    .venv/bin/python benchmarks/metaflow_openlineage.py [ROUNDS]

The flow is a foreach of 20 trivial tasks, 23 tasks in total. In each round it runs plain, with an
import of openlineage.client in each process, and with @openlineage writing to files. CPU seconds
are user and system time of the launcher and all tasks, divided by the number of tasks. The cost of
@openlineage is the median of the rounds' differences, because load on the machine slows all three.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SPLITS = 20
TASKS = SPLITS + 3

FLOW = f"""
from metaflow import FlowSpec, step
{{preamble}}
class BenchmarkFlow(FlowSpec):
    @step
    def start(self):
        self.numbers = list(range({SPLITS}))
        self.next(self.square, foreach="numbers")

    @step
    def square(self):
        self.squares = [self.input ** 2]
        self.next(self.join)

    @step
    def join(self, inputs):
        self.total = sum(branch.squares[0] for branch in inputs)
        self.next(self.end)

    @step
    def end(self):
        print(self.total)

if __name__ == "__main__":
    BenchmarkFlow()
"""
VARIANTS = {
    "plain": "",
    "the import alone": "import openlineage.client",
    "with @openlineage": "from metaflow_openlineage import openlineage\n@openlineage",
}


def cpu_seconds(preamble: str) -> float:
    """Return the user and system seconds of one run of the flow."""
    with tempfile.TemporaryDirectory() as work:
        Path(work, "flow.py").write_text(FLOW.format(preamble=preamble))
        transport = {"type": "file", "log_file_path": f"{work}/events", "append": False}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "flow.py", "run", "--max-workers", "2"],
            cwd=work,
            env={
                **{k: v for k, v in os.environ.items() if "OPENLINEAGE" not in k},
                "OPENLINEAGE__TRANSPORT": json.dumps(transport),
                "METAFLOW_HOME": work,
                "METAFLOW_DATASTORE_SYSROOT_LOCAL": work,
                "METAFLOW_USER": "benchmark",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        events = len(list(Path(work).glob("events*")))
        if done.returncode or "openlineage:" in done.stderr or bool(events) != ("@" in preamble):
            sys.exit(f"{events} events\n{done.stdout}{done.stderr}")
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Run all variants in each round, and print the median cost of a task."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.platform()}")  # noqa: T201
    print(f"load {load:.1f} before the start, {rounds} rounds, {TASKS} tasks a flow\n")  # noqa: T201
    seconds_by_variant: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for nth in range(rounds):
        for name in list(VARIANTS)[:: 1 if nth % 2 else -1]:
            seconds_by_variant[name].append(cpu_seconds(VARIANTS[name]))
    print(f"{'CPU seconds per task':<20}{'median':>8}{'min':>8}{'max':>8}")  # noqa: T201
    plain, imported, decorated = seconds_by_variant.values()
    rows = seconds_by_variant | {
        "@ above plain": [b - a for a, b in zip(plain, decorated, strict=True)],
        "@ above the import": [b - a for a, b in zip(imported, decorated, strict=True)],
    }
    for name, seconds in rows.items():
        numbers = [
            value / TASKS for value in (statistics.median(seconds), min(seconds), max(seconds))
        ]
        print(f"{name:<20}" + "".join(f"{number:8.3f}" for number in numbers))  # noqa: T201


if __name__ == "__main__":
    main()
