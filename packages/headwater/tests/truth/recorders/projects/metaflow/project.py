"""Pass a list from one step to the next, in a project with branches."""

from metaflow import FlowSpec, project, step

from metaflow_openlineage import openlineage


@project(name="shop")
@openlineage
class ScoreFlow(FlowSpec):
    """Sum a few numbers."""

    @step
    def start(self):
        self.data = [1, 2, 3]
        self.next(self.end)

    @step
    def end(self):
        print(sum(self.data))  # noqa: T201


if __name__ == "__main__":
    ScoreFlow()
