"""Entry point for spark-submit: ``run.py SOURCE JOB PARTITIONS`` or ``run.py tables JOB``.

PARTITIONS is the JSON list that the download task returned. A job of `tables` processes all tables.
"""

from __future__ import annotations

import argparse
import json
import sys

from lakehouse.errors import PipelineError
from lakehouse.ingest import Partition
from lakehouse.settings import load_settings
from spark_jobs import ingest, taxi, weather
from spark_jobs.maintenance import NO_LINEAGE, expire_snapshots
from spark_jobs.session import open_session

SPECS = {**taxi.SPECS, "weather": weather.SPEC}
JOBS = {"stage": ingest.stage, "check_staging": ingest.check_staging, "merge": ingest.merge}
TABLE_JOBS = {"expire_snapshots": expire_snapshots}


def main(argv: list[str]) -> None:
    """Parse the arguments and run the job in a Spark session."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", choices=[*SPECS, "tables"])
    parser.add_argument("job", choices=[*JOBS, *TABLE_JOBS])
    parser.add_argument("partitions", type=json.loads, nargs="?", default=[])
    arguments = parser.parse_args(argv)
    settings = load_settings()
    if arguments.source == "tables":
        with open_session(settings, arguments.job, NO_LINEAGE) as spark:
            TABLE_JOBS[arguments.job](spark, settings)
        return
    partitions = [
        Partition(s["name"], tuple(s["paths"]), s["source_hash"]) for s in arguments.partitions
    ]
    spec = SPECS[arguments.source]
    spark = open_session(settings, f"{spec.table}_{arguments.job}")
    try:
        JOBS[arguments.job](spark, settings, spec, partitions)
    finally:
        spark.stop()


def run() -> None:
    """Run the program; print the pipeline's own errors without a traceback."""
    try:
        main(sys.argv[1:])
    except PipelineError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    run()
