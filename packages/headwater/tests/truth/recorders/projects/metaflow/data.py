"""Read a CSV file and a table with helpers, and write a Parquet file."""

import os
from pathlib import Path

import pandas as pd
from metaflow import FlowSpec, step

from metaflow_openlineage import Dataset, openlineage, reads, writes

FOLDER = Path(os.environ["SHOP"])


@openlineage
class DataFlow(FlowSpec):
    """Join users and orders."""

    @step
    def start(self):
        (FOLDER / "users.csv").write_text("user_id,name\n1,Ann\n2,Bob\n")
        (FOLDER / "orders.csv").write_text("user_id,amount\n1,10\n2,20\n")
        reads(Dataset(namespace="file", name=f"{FOLDER}/users.csv"))
        reads(Dataset(namespace="file", name=f"{FOLDER}/orders.csv"))
        self.users = pd.read_csv(FOLDER / "users.csv")
        self.orders = pd.read_csv(FOLDER / "orders.csv")
        self.next(self.join_tables)

    @step
    def join_tables(self):
        self.joined = self.users.merge(self.orders, on="user_id")
        self.next(self.end)

    @step
    def end(self):
        self.joined.to_csv(FOLDER / "joined.csv")
        writes(Dataset(namespace="file", name=f"{FOLDER}/joined.csv"))


if __name__ == "__main__":
    DataFlow()
