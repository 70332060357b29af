"""Train a model per region, of which one fails at first, and pick the best one after a resume."""

import os
from pathlib import Path

from metaflow import FlowSpec, step

from metaflow_openlineage import openlineage


@openlineage
class TrainFlow(FlowSpec):
    """Train a model per region."""

    @step
    def start(self):
        self.regions = ["eu", "us"]
        self.table = {"eu": [1.0, 3.0], "us": [2.0]}
        self.next(self.fit, foreach="regions")

    @step
    def fit(self):
        region = self.input
        if region == "us" and not Path(os.environ["SHOP"], "ready").exists():
            raise ConnectionError("warehouse hiccup")
        self.model = {"region": region, "mean": sum(self.table[region]) / len(self.table[region])}
        self.next(self.join)

    @step
    def join(self, inputs):
        self.best_model = max((item.model for item in inputs), key=lambda model: model["mean"])
        self.next(self.end)

    @step
    def end(self):
        print(self.best_model)  # noqa: T201


if __name__ == "__main__":
    TrainFlow()
