"""Fit a line to points from a SQLite table: `python line_flow.py run`.

Events go to the transport that is configured for openlineage-python, for example
OPENLINEAGE_URL=http://localhost:5000
"""

import sqlite3
import tempfile
from pathlib import Path

from metaflow import FlowSpec, Parameter, step

from metaflow_openlineage import Dataset, openlineage, query

DATABASE = Path(tempfile.gettempdir()) / "line_flow.db"
POINTS = Dataset("sqlite://local", "points", fields=(("x", "REAL"), ("y", "REAL")))


@openlineage
class LineFlow(FlowSpec):
    """Fit a line.

    1. Fill a table with points.
    2. Read it as training data.
    3. Fit the line and keep it as the model.
    """

    slope = Parameter("slope", default=2.0)

    @step
    def start(self):
        """Fill the table."""
        sql = "INSERT INTO points VALUES (?, ?)"
        with sqlite3.connect(DATABASE) as database, query(sql, name="fill", outputs=[POINTS]):
            database.execute("DROP TABLE IF EXISTS points")
            database.execute("CREATE TABLE points (x REAL, y REAL)")
            database.executemany(sql, [(x, self.slope * x) for x in range(10)])
        self.next(self.prepare)

    @step
    def prepare(self):
        """Read the table."""
        sql = "SELECT x, y FROM points"
        with sqlite3.connect(DATABASE) as database, query(sql, name="read", inputs=[POINTS]):
            self.training_data = database.execute(sql).fetchall()
        self.next(self.train)

    @step
    def train(self):
        """Fit the line."""
        points = self.training_data
        self.model = {"slope": sum(x * y for x, y in points) / sum(x * x for x, _ in points)}
        self.next(self.end)

    @step
    def end(self):
        """Use the model."""
        assert self.model["slope"] == self.slope


if __name__ == "__main__":
    LineFlow()
