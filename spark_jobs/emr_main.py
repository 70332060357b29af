"""What EMR Serverless starts: the program is what `spark.archives` unpacked beside it."""

import logging
import sys

sys.path.insert(0, "code")
# What Python tells lineage goes where Spark's listener writes when no server is named.
logging.basicConfig(stream=sys.stdout, format="%(message)s")
logging.getLogger("openlineage.client.transport.console").setLevel(logging.INFO)

if __name__ == "__main__":
    from spark_jobs.run import run

    run()
