"""Measure the CPU time of a month with 3 million trips, and the share of lineage in it.

    .venv/bin/python benchmarks/ingest.py [ROUNDS] [ROWS]

Each round stages, checks and merges the generator's month into an empty lakehouse, with a new
driver for each job, as in Airflow. Then it downloads and runs the same jobs again, although Airflow
would skip the jobs, because the download finds nothing new. It does so with lineage (listener and
spool) and with OPENLINEAGE_DISABLED, in alternating order. CPU seconds are user and system time
of the driver, including the JVM and its start. Memory is the largest resident set of a process, the
JVM's. The overhead of lineage is the median of the rounds' differences.
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
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from commands.environment import child_environ, script
from commands.services import prepare
from lakehouse.ingest import Partition, land
from lakehouse.settings import REPOSITORY, Settings, load_settings
from lakehouse.sources import YELLOW
from spark_jobs.session import submit_conf

MONTH = "2025-05"
JOBS = ("stage", "check_staging", "merge")


def cpu_seconds(
    settings: Settings, job: str, partitions: Sequence[Partition], lineage: bool
) -> float:
    """Return the user and system seconds of one job's driver."""
    conf = [f"--conf={key}={value}" for key, value in submit_conf(settings).items()]
    argument = json.dumps([asdict(partition) for partition in partitions])
    program = [str(REPOSITORY / "spark_jobs" / "run.py"), "yellow", job, argument]
    environ = child_environ(settings) | {"PYTHONPATH": str(REPOSITORY)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [script("spark-submit"), "--master", settings.spark_master, *conf, *program],
        env=environ | ({} if lineage else {"OPENLINEAGE_DISABLED": "true"}),
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def month(generated: Path, rows: int, lineage: bool) -> dict[str, float]:
    """Return the CPU seconds of each job on an empty lakehouse and of its repetition."""
    warm = load_settings().state_dir
    with tempfile.TemporaryDirectory() as work:
        for cached in [generated, warm / "jars", *warm.glob("classes-*")]:
            Path(work, cached.name).symlink_to(cached)
        settings = load_settings(state_dir=work, generator_rows=rows)
        prepare(settings)
        partitions = land(settings, YELLOW, [MONTH]).partitions
        times = {job: cpu_seconds(settings, job, partitions, lineage) for job in JOBS}
        times |= {f"{job} again": cpu_seconds(settings, job, partitions, lineage) for job in JOBS}
        before = time.process_time()
        if land(settings, YELLOW, [MONTH]).partitions:
            sys.exit("the month is already loaded, but would be loaded again")
        times["download again"] = time.process_time() - before
        events = sum(1 for path in Path(work, "spool").rglob("*.jsonl") for _ in path.open())
        if bool(events) != lineage:
            sys.exit(f"{events} events with lineage {lineage}")
        return times


def main() -> None:
    """Run the rounds and print medians."""
    rounds, rows = (*map(int, sys.argv[1:]), *(3, 3_000_000)[len(sys.argv) - 1 :])
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.platform()}")  # noqa: T201
    print(f"load {os.getloadavg()[0]:.1f} before the start, {rounds} rounds, {rows:,} rows\n")  # noqa: T201
    times: dict[bool, list[dict[str, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as work:
        generated = Path(work, "generated")
        generated.mkdir()
        for nth in range(rounds):
            for lineage in (True, False)[:: 1 if nth % 2 else -1]:
                times[lineage].append(month(generated, rows, lineage))
    print(f"{'CPU seconds':<24}{'lineage':>9}{'without':>9}{'added':>9}")  # noqa: T201
    both = [("stage and merge", ("stage", "merge")), ("all three", JOBS)]
    again = [(f"{name} again", tuple(f"{job} again" for job in jobs)) for name, jobs in both]
    alone = [(job, (job,)) for job in times[True][0]]
    for name, jobs in [*alone, *both, *again]:
        on, off = (
            [sum(round_[job] for job in jobs) for round_ in times[lineage]]
            for lineage in (True, False)
        )
        added = statistics.median(a - b for a, b in zip(on, off, strict=True))
        share = added / statistics.median(off)
        print(  # noqa: T201
            f"{name:<24}{statistics.median(on):9.1f}{statistics.median(off):9.1f}{share:9.1%}"
        )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1_048_576
    print(f"\nlargest process: {peak:.1f} GiB")  # noqa: T201


if __name__ == "__main__":
    main()
