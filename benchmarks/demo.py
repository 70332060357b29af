"""Measure `./run demo --exit` with warm caches: first without data, then with the same data.

    .venv/bin/python benchmarks/demo.py

Both runs share a new state folder, which only contains the downloaded jars and the JVM's class
archive at first. Print the machine, then the stages of each run.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lakehouse.settings import REPOSITORY, load_settings


def main() -> None:
    """Run the demo twice and print the times."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.platform()}")  # noqa: T201
    warm = load_settings().state_dir
    with tempfile.TemporaryDirectory() as work:
        for cached in [warm / "jars", *warm.glob("classes-*")]:
            Path(work, cached.name).symlink_to(cached)
        for label in ("nothing loaded", "the same data again"):
            started = time.monotonic()
            done = subprocess.run(
                [REPOSITORY / "run", "demo", "--exit"],
                env=os.environ | {"STATE_DIR": work},
                capture_output=True,
                text=True,
                check=False,
            )
            seconds = time.monotonic() - started
            if done.returncode:
                sys.exit(done.stdout + done.stderr)
            stages = re.search(r"stage +seconds.*?total +[\d.]+", done.stdout, re.DOTALL)
            table = stages[0] if stages else ""
            print(f"\n{label}: {seconds:.0f} s in total\n{table}")  # noqa: T201


if __name__ == "__main__":
    main()
