"""Record the events of a demo for tests, lessons and pictures.

The lessons' own events follow the recorded ones, so all recordings get the same day.

Usage: python benchmarks/record_pipeline.py [FOLDER], after `./run demo --exit` in a new clone, or
with its state folder. The recording replaces packages/headwater/tests/support/pipeline.jsonl.xz.
"""

from __future__ import annotations

import lzma
import re
import subprocess
import sys
from pathlib import Path

from headwater.log import EventLog

ROOT = Path(__file__).resolve().parent.parent
RECORDING = ROOT / "packages" / "headwater" / "tests" / "support" / "pipeline.jsonl.xz"
CLONE = "/data/reference"
ORIGIN = "https://github.com/headwater-lineage/two-orchestrators-one-lineage"
AIRFLOW = "http://localhost:9090"
DAY = "2026-11-22"
"""The day of the recorded events; those of the lessons are of the next day."""


def main(state: Path) -> None:
    """Write all events of a state folder's lineage database, in order of arrival.

    The paths of the clone and of the repository that it was cloned from, the address of Airflow and
    the day are replaced.
    """
    lines = recorded(state)
    RECORDING.write_bytes(lzma.compress("".join(lines).encode()))
    sys.stdout.write(f"{len(lines)} events in {RECORDING.relative_to(ROOT)}\n")


def recorded(state: Path) -> list[str]:
    """Return the events of a demo as lines, with the paths and links of the public clone."""
    database = state / "headwater.db"
    if not database.exists():
        raise SystemExit(f"{database} does not exist. Run `./run demo --exit` first.")
    git = ["git", "-C", str(state.parent), "remote", "get-url", "origin"]
    origin = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    log = EventLog(f"sqlite:///{database}")
    lines = "".join(f"{body}\n" for _, body in log.read(0))
    log.close()
    for own, public in ((str(state.parent), CLONE), (f"file://{origin}", ORIGIN), (origin, ORIGIN)):
        lines = lines.replace(own, public)
    lines = re.sub(r"http://localhost:\d+", AIRFLOW, lines)
    days = set(re.findall(r'"eventTime": ?"([\d-]{10})', lines))
    if len(days) != 1:
        raise SystemExit(f"The demo ran on {len(days)} days (UTC). Run it again within one day.")
    return lines.replace(days.pop(), DAY).splitlines(keepends=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".state").resolve())
