"""Record the events of lesson 9: a corrected file replaces a month of rides, and is trained on.

Usage: python -m benchmarks.record_recall, after `./run demo --exit` in a new clone. It removes the
rides of one week that the first file counts twice, runs the demo again, and writes the events of
both demos to docs/learn/lessons/9-recall.
"""

from __future__ import annotations

import lzma
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.record_pipeline import ROOT, recorded

PUBLISHED = ROOT / ".state/generated/taxi/trip-data/yellow_tripdata_2025-05.parquet"
LESSON = ROOT / "docs/learn/lessons/9-recall"


def correct(path: Path) -> None:
    """Remove every second ride of 12 to 18 May."""
    trips = pq.read_table(path)
    day = pc.day(trips["tpep_pickup_datetime"]).to_numpy()
    is_repeated = (day >= 12) & (day < 19) & (np.arange(len(trips)) % 2 == 1)
    pq.write_table(trips.filter(~is_repeated), path, compression="zstd")


def main() -> None:
    """Record both parts of the lesson."""
    before = recorded(ROOT / ".state")
    correct(PUBLISHED)
    subprocess.run([str(ROOT / "run"), "demo", "--exit"], check=True)
    after = recorded(ROOT / ".state")[len(before) :]
    for name, lines in (("events", before), ("corrected", after)):
        (LESSON / f"{name}.jsonl.xz").write_bytes(lzma.compress("".join(lines).encode()))


if __name__ == "__main__":
    main()
