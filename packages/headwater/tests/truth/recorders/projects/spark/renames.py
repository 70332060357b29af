"""Fill, rename, swap and empty Parquet tables with SQL."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
for statement in (
    "create database shop",
    "create table shop.orders (id int, amount double) using parquet",
    "insert into shop.orders values (1, 10.0), (2, 20.0)",
    "create table shop.daily using parquet as select id from shop.orders",
    "create table shop.daily_new using parquet as select id, amount * 2 as amount from shop.orders",
    "alter table shop.daily rename to shop.daily_old",
    "alter table shop.daily_new rename to shop.daily",
    "create table shop.report using parquet as select sum(amount) as total from shop.daily",
    "truncate table shop.daily_old",
):
    spark.sql(statement)
spark.stop()
