"""A flow of a Metaflow project."""

from metaflow import FlowSpec, current, project, step

from metaflow_openlineage import flow_run_id, openlineage, spark_conf


@project(name="shop")
@openlineage
class BranchFlow(FlowSpec):
    @step
    def start(self):
        self.rows = [1, 2]
        self.next(self.end)

    @step
    def end(self):
        assert self.rows
        print("SPARK", spark_conf()["spark.openlineage.namespace"])  # noqa: T201
        print("FLOW", flow_run_id("BranchFlow", current.run_id))  # noqa: T201


if __name__ == "__main__":
    BranchFlow()
