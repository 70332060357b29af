"""A flow without the decorator."""

from metaflow import FlowSpec, step


class PlainFlow(FlowSpec):
    @step
    def start(self):
        self.rows = [1, 2]
        self.next(self.end)

    @step
    def end(self):
        assert self.rows


if __name__ == "__main__":
    PlainFlow()
