"""How long `./run demo --exit` takes with warm caches: first on no data, then on the same again.

    .venv/bin/python benchmarks/demo.py

Each run has a state folder of its own, to which only the downloaded jars and the JVM's class
archive are carried over. Prints the machine, then each run's own table of stages.
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
    """Run the demo twice and print what it took."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.platform()}")  # noqa: T201
    warm = load_settings().state_dir
    with tempfile.TemporaryDirectory() as work:
        for kept in [warm / "jars", *warm.glob("classes-*")]:
            Path(work, kept.name).symlink_to(kept)
        for label in ("nothing loaded yet", "the same again"):
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
            stages = re.search(r"stage +seconds.*?all +[\d.]+", done.stdout, re.DOTALL)
            table = stages[0] if stages else ""
            print(f"\n{label}: {seconds:.0f} s in all\n{table}")  # noqa: T201


if __name__ == "__main__":
    main()
