"""Pass a list from one step to the next."""

from metaflow import FlowSpec, step

from metaflow_openlineage import openlineage


@openlineage
class TinyFlow(FlowSpec):
    """Sum a few numbers."""

    @step
    def start(self):
        self.data = [1, 2, 3]
        self.next(self.end)

    @step
    def end(self):
        print(sum(self.data))  # noqa: T201


if __name__ == "__main__":
    TinyFlow()
