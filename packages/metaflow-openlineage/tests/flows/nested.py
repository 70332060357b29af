"""A foreach within a foreach; the rows differ in length, and two cells are equal."""

from metaflow import FlowSpec, step

from metaflow_openlineage import openlineage


@openlineage
class NestedFlow(FlowSpec):
    @step
    def start(self):
        self.rows = ["a", "bb"]
        self.next(self.row, foreach="rows")

    @step
    def row(self):
        self.letters = self.input
        self.numbers = list(range(2 * len(self.letters)))
        self.next(self.cell, foreach="numbers")

    @step
    def cell(self):
        self.value = [self.letters, self.input % 3]
        self.next(self.join_row)

    @step
    def join_row(self, inputs):
        self.values = [branch.value for branch in inputs]
        self.next(self.join_all)

    @step
    def join_all(self, inputs):
        self.table = [branch.values for branch in inputs]
        self.next(self.end)

    @step
    def end(self):
        assert [len(row) for row in self.table] == [2, 4]


if __name__ == "__main__":
    NestedFlow()
