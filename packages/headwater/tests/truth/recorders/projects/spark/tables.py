"""Create, fill, merge, rename and drop Iceberg tables with SQL."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
for statement in (
    "create namespace lake.shop",
    "create table lake.shop.orders (id int, customer_id int, amount double, status string)"
    " using iceberg",
    "insert into lake.shop.orders values (1, 1, 10.0, 'ok'), (2, 2, 20.0, 'bad')",
    "create table lake.shop.customers (id int, name string) using iceberg",
    "insert into lake.shop.customers values (1, 'Ann'), (2, 'Bob')",
    "create table lake.shop.clean using iceberg as"
    " with ok as (select id, customer_id, amount from lake.shop.orders where status = 'ok')"
    " select ok.id, c.name as customer, ok.amount * 2 as amount"
    " from ok join lake.shop.customers c on c.id = ok.customer_id",
    "create table lake.shop.updates (id int, customer string, amount double) using iceberg",
    "insert into lake.shop.updates select id, 'Cat' as customer, amount from lake.shop.orders",
    "merge into lake.shop.clean t using lake.shop.updates s on t.id = s.id"
    " when matched then update set amount = s.amount"
    " when not matched then insert (id, customer, amount) values (s.id, s.customer, s.amount)",
    "alter table lake.shop.clean rename to shop.orders_clean",
    "create table lake.shop.totals using iceberg as"
    " select customer, sum(amount) as total from lake.shop.orders_clean group by customer",
    "drop table lake.shop.updates",
):
    spark.sql(statement)
spark.stop()
