"""Reads and writes files and tables with several libraries, without helpers."""

import os

import duckdb
import pandas as pd
from metaflow import FlowSpec, step

from metaflow_openlineage import Dataset, openlineage, table_read

D = os.environ["DATA_FOLDER"]


def catalog():
    from pyiceberg.catalog import load_catalog

    return load_catalog("c", type="sql", uri=f"sqlite:///{D}/cat.db", warehouse=f"file://{D}/wh")


@openlineage
class DataFlow(FlowSpec):
    @step
    def start(self):
        from sqlalchemy import create_engine

        self.users = pd.read_csv(f"{D}/users.csv")
        self.orders = duckdb.sql(f"select * from '{D}/orders.parquet'").df()
        self.trips = catalog().load_table("nyc.trips").scan().to_pandas()
        self.rates = pd.read_sql("select * from rates", create_engine(f"sqlite:///{D}/shop.db"))
        self.next(self.mixed)

    @step
    def mixed(self):
        self.users.to_parquet(f"{D}/users.parquet")
        joined = self.users.merge(self.orders, on="user_id")
        joined.to_parquet(f"{D}/joined.parquet")
        changed = pd.read_csv(f"{D}/users.csv")
        changed.loc[0, "user_id"] = 5
        self.changed = changed
        with duckdb.connect(f"{D}/shop.duckdb") as shop:
            shop.execute(f"create or replace table orders as from '{D}/orders.parquet'")
            shop.execute("create or replace table large as select * from orders where amount > 5")
        self.next(self.changes)

    @step
    def changes(self):
        with duckdb.connect(f"{D}/shop.duckdb") as shop:
            shop.execute("create table if not exists orders as select * from large")
            shop.execute("alter table large rename to big")
            shop.execute("create table scratch as select 1 a")
            shop.execute("drop table scratch")
            shop.execute("select * from orders").fetchall()
        self.next(self.end)

    @step
    def end(self):
        table = catalog().load_table("nyc.trips")
        trips = Dataset("hive://lake", "nyc.trips")
        table_read(table, trips)
        self.declared = table.scan().to_arrow()


if __name__ == "__main__":
    DataFlow()
