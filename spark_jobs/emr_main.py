"""Entry point on EMR Serverless; runs the code that `spark.archives` unpacked to ./code."""

import logging
import sys

sys.path.insert(0, "code")
# Without a lineage server, Python's events go to stdout, like those of Spark's listener.
logging.basicConfig(stream=sys.stdout, format="%(message)s")
logging.getLogger("openlineage.client.transport.console").setLevel(logging.INFO)

if __name__ == "__main__":
    from spark_jobs.run import run

    run()
