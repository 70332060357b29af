"""A shop on Delta Lake with a Hive metastore: one job per call, as a scheduler starts them.

spark-submit jobs.py JOB DAY LIMIT
"""

from __future__ import annotations

import os
import sys
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession, functions

job, day, limit = sys.argv[1], int(sys.argv[2]), sys.argv[3]
shop, date = os.environ["SHOP"], f"2026-11-0{day}"
spark = SparkSession.builder.getOrCreate()
jdbc: dict[str, Any] = {
    "url": f"jdbc:postgresql://{os.environ['DATABASE']}/postgres",
    "user": "postgres",
    "driver": "org.postgresql.Driver",
}


def ingest_orders() -> None:
    """Append the orders of a day to a path."""
    orders = spark.read.format("jdbc").options(**jdbc, dbtable="sales.orders").load()
    new = orders.filter(orders.day == functions.lit(date).cast("date"))
    writer = new.write.format("delta").mode("append").partitionBy("day")
    writer.save(f"{shop}/lake/bronze/orders")


def ingest_customers() -> None:
    """Overwrite a table of the catalog; from the second day on with another column."""
    query = "(select id, name, country, phone from sales.customers where active) q"
    customers = spark.read.format("jdbc").options(**jdbc, dbtable=query).load()
    if day > 1:
        customers = customers.withColumn("tier", functions.upper("country"))
    spark.sql("create database if not exists bronze")
    writer = customers.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer.saveAsTable("bronze.customers")


def register() -> None:
    """Give the path of the orders a name in the catalog."""
    place = f"{shop}/lake/bronze/orders"
    spark.sql(f"create table bronze.orders using delta location '{place}'")


def stream_refunds() -> None:
    """Merge new files into a path, with Delta's API and `foreachBatch`."""
    target, schema = f"{shop}/lake/bronze/refunds", "order_id int, reason string"
    if not DeltaTable.isDeltaTable(spark, target):
        spark.createDataFrame([], schema).write.format("delta").save(target)

    def merge(batch: DataFrame, _: int) -> None:
        merged = DeltaTable.forPath(spark, target).alias("t")
        rows = batch.dropDuplicates(["order_id"]).alias("s")
        change = merged.merge(rows, "t.order_id = s.order_id")
        change.whenMatchedUpdate(set={"reason": "s.reason"}).whenNotMatchedInsertAll().execute()

    stream = spark.readStream.schema(schema).json(f"{shop}/landing/refunds").writeStream
    stream = stream.option("checkpointLocation", f"{shop}/checkpoints/refunds")
    stream.foreachBatch(merge).trigger(availableNow=True).start().awaitTermination()


def clean_orders() -> None:
    """Merge a temporary view and a path into a table; update and delete rows."""
    spark.sql("create database if not exists silver")
    columns = "id int, customer_id int, amount double, status string, day date"
    spark.sql(f"create table if not exists silver.orders ({columns}) using delta")
    spark.sql(
        "create temporary view new_orders as select id, customer_id, amount, status, day"
        f" from bronze.orders where day = date'{date}'"
    )
    spark.sql(
        "merge into silver.orders t using new_orders s on t.id = s.id"
        " when matched then update set t.amount = s.amount, t.status = s.status"
        " when not matched then insert (id, customer_id, amount, status, day)"
        " values (s.id, s.customer_id, s.amount, s.status, s.day)"
    )
    spark.sql(
        f"merge into silver.orders t using delta.`{shop}/lake/bronze/refunds` r"
        " on t.id = r.order_id when matched and r.reason <> 'test' then update set status = 'back'"
    )
    spark.sql("update silver.orders set amount = round(amount, 2) where status = 'paid'")
    spark.sql("delete from silver.orders where amount <= 0")


def daily_revenue() -> None:
    """Replace the rows of a day with `replaceWhere`."""
    spark.sql("create database if not exists gold")
    orders, customers = spark.table("silver.orders"), spark.table("bronze.customers")
    paid = orders.filter((orders.status == "paid") & (orders.day == date))
    joined = paid.join(customers, paid.customer_id == customers.id)
    revenue = joined.groupBy("day", "country").agg(functions.sum("amount").alias("revenue"))
    writer = revenue.write.format("delta").mode("overwrite").partitionBy("day")
    if spark.catalog.tableExists("gold.daily_revenue"):
        writer = writer.option("replaceWhere", f"day = '{date}'")
    writer.saveAsTable("gold.daily_revenue")


def views() -> None:
    """Create a view in the metastore."""
    spark.sql("create view gold.v_revenue as select * from gold.daily_revenue where revenue > 0")


def report() -> None:
    """Overwrite a partition of a Parquet table from a view; write its totals through JDBC."""
    spark.sql("create database if not exists mart")
    columns = "country string, revenue double"
    spark.sql(
        f"create table if not exists mart.report ({columns}) partitioned by (day string)"
        " stored as parquet"
    )
    spark.sql(
        f"insert overwrite table mart.report partition (day = '{date}')"
        f" select country, revenue from gold.v_revenue where day = date'{date}'"
    )
    totals = spark.table("mart.report").groupBy("country").agg(functions.sum("revenue"))
    writer = totals.toDF("country", "total").write.format("jdbc").mode("overwrite")
    writer.options(**jdbc, dbtable="reporting.revenue").save()


def segments() -> None:
    """Replace a table; fails if the limit is an error."""
    spark.sql(
        "create or replace table mart.segments using delta as select o.customer_id, c.name,"
        f" case when sum(o.amount) > {limit} then 'big' else 'small' end as segment"
        " from silver.orders o left join bronze.customers c on c.id = o.customer_id"
        " group by o.customer_id, c.name"
    )


def first_orders() -> None:
    """Read a table as of its second version."""
    spark.sql(
        "create or replace table silver.first_orders using delta as"
        " select id, amount from silver.orders version as of 1"
    )


def maintenance() -> None:
    """Compact a table."""
    spark.sql("optimize silver.orders zorder by (customer_id)")
    spark.sql("analyze table mart.report partition (day) compute statistics")


def renames() -> None:
    """Rename a table, and read it under its new name."""
    spark.sql("alter table mart.segments rename to mart.customer_segments")
    spark.sql(
        "create or replace table mart.sizes using delta as"
        " select segment, count(*) as n from mart.customer_segments group by segment"
    )
    spark.sql("drop table silver.first_orders")


globals()[job]()
spark.stop()
