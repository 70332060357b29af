"""Join a CSV file, a Parquet file and a table of SQLite; write Parquet, CSV and Parquet."""

import os
import sqlite3
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

data = Path(os.environ["SHOP"]) / "data"
data.mkdir()
(data / "zones.csv").write_text("id,name\n1,North\n2,South\n")
with sqlite3.connect(data / "shop.db") as database:
    database.execute("create table rates (zone_id integer, rate real)")
    database.executemany("insert into rates values (?, ?)", [(1, 1.1), (2, 0.9)])

spark = SparkSession.builder.getOrCreate()
spark.sql(
    "select 1 as order_id, 1 as zone_id, 10.0D as amount union all select 2, 2, 20.0D"
).write.parquet(f"{data}/orders")

zones = spark.read.option("header", True).csv(f"{data}/zones.csv")
orders = spark.read.parquet(f"{data}/orders")
rates = (
    spark.read.format("jdbc")
    .option("url", f"jdbc:sqlite:{data}/shop.db")
    .option("dbtable", "rates")
    .option("driver", "org.sqlite.JDBC")
    .load()
)
enriched = (
    zones.join(orders, zones.id == orders.zone_id)
    .filter(orders.amount > 0)
    .join(rates, "zone_id")
    .withColumn("eur", F.col("amount") * F.col("rate"))
)
enriched.select("name", "eur").write.parquet(f"{data}/enriched")
spark.read.parquet(f"{data}/enriched").groupBy("name").agg(F.sum("eur").alias("total")).write.csv(
    f"{data}/totals", header=True
)
zones.select(F.upper("name").alias("label")).write.parquet(f"{data}/labels")
spark.stop()
