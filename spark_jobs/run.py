"""The one program that spark-submit starts: ``run.py SOURCE JOB SLICES``.

SLICES is the JSON list that the download task returned.
"""

from __future__ import annotations

import argparse
import json
import sys

from lakehouse.errors import PipelineError
from lakehouse.ingest import Slice
from lakehouse.settings import load_settings
from spark_jobs import ingest, taxi, weather
from spark_jobs.session import open_session

SPECS = {**taxi.SPECS, "weather": weather.SPEC}
JOBS = {"stage": ingest.stage, "check_staging": ingest.check_staging, "merge": ingest.merge}


def main(argv: list[str]) -> None:
    """Parse, open the session, run the job, stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", choices=SPECS)
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("slices", type=json.loads)
    arguments = parser.parse_args(argv)
    slices = [Slice(s["name"], tuple(s["paths"]), s["source_hash"]) for s in arguments.slices]
    spec = SPECS[arguments.source]
    settings = load_settings()
    spark = open_session(settings, f"{spec.table}_{arguments.job}")
    try:
        JOBS[arguments.job](spark, settings, spec, slices)
    finally:
        spark.stop()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except PipelineError as error:
        sys.exit(f"{type(error).__name__}: {error}")
