"""Every shape of flow at once: branch, foreach, joins, retry, a kill, catch, and declared data."""

import os
import signal
import sys

from metaflow import FlowSpec, JSONType, Parameter, catch, current, project, retry, step

from metaflow_openlineage import (
    Dataset,
    artifact,
    openlineage,
    query,
    reads,
    spark_conf,
    table_read,
    table_written,
    writes,
)


class Field:
    name, field_type = "hour", "timestamp"


class Table:
    """The parts of an Iceberg table that the helpers use."""

    class Snapshot:
        snapshot_id = 5124986521368745127
        summary = {"added-records": "24", "total-records": "48"}

    def current_snapshot(self):
        return self.Snapshot()

    def schema(self):
        return type("Schema", (), {"fields": [Field]})


@project(name="everything")
@openlineage
class ShapesFlow(FlowSpec):
    """Does a bit of everything."""

    LIMITS = [1, 2]

    alpha = Parameter("alpha", default=0.5)
    api_token = Parameter("api_token", default="do-not-show")
    store = Parameter("store", default="postgresql://me:pw1@host/db")
    options = Parameter("options", default='{"deep": true}', type=JSONType)

    @step
    def start(self):
        """Make training data."""
        import pandas as pd

        self.training_data = pd.DataFrame({"hour": [1, 2, 3], "zone": ["a", "b", "a"]})
        self.settings = {"a": [1]}
        self.parts = ["x", "y"]
        self.count = len(self.LIMITS)
        self.next(self.train, self.ignore)

    @step
    def train(self):
        """Train on it."""
        self.model = {"mean": self.training_data["hour"].mean()}
        self.metrics = {"mae": self.alpha}
        self.next(self.compare)

    @step
    def ignore(self):
        self.settings["a"].append(2)
        self.next(self.compare)

    @step
    def compare(self, inputs):
        self.merge_artifacts(inputs, exclude=["settings", "training_data"])
        self.settings = inputs.ignore.settings
        self.next(self.spread)

    @step
    def spread(self):
        self.next(self.score, foreach="parts")

    @retry(times=1, minutes_between_retries=0)
    @step
    def score(self):
        if self.input == "x" and current.retry_count == 0:
            raise ValueError("flaky postgresql://me:pw1@host/db")
        if self.input == "y" and current.retry_count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.scored = {self.input: self.model["mean"]}
        self.next(self.gather)

    @step
    def gather(self, inputs):
        self.scores = [branch.scored for branch in inputs]
        self.next(self.risky)

    @catch(var="caught", print_exception=False)
    @step
    def risky(self):
        self.half_done = [1]
        if self.alpha:
            raise RuntimeError("this one is caught")
        self.next(self.end)

    @step
    def end(self):
        source = reads(Dataset("file", "/in.csv", facets={}))
        table = Dataset("file", "/warehouse/t", symlink=("lake", "nyc.t"))
        table_read(Table(), table)
        forecast = Dataset("file", "/warehouse/forecast")
        table_written(Table(), forecast, column_lineage={"hour": [(source, "h")]})
        writes(artifact("report"), column_lineage={"hour": [(table, "hour")]})
        with query("SELECT 1", dialect="duckdb", inputs=[Dataset("file", "/q.csv")]) as running:
            running.outputs.append(Dataset("file", "/q.out"))
        try:
            with query("SELECT 1"):
                raise LookupError("no such table")
        except LookupError:
            pass
        self.report = {"conf": spark_conf(), "parent": os.environ["OPENLINEAGE_PARENT_ID"]}
        sys.stdout.write(f"REPORT {self.report}\n")


if __name__ == "__main__":
    ShapesFlow()
