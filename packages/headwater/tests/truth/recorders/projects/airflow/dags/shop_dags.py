"""A shop's DAGs: SQL on PostgreSQL with a failing check, mapped tasks, retries."""

import os
from datetime import datetime, timedelta
from pathlib import Path

from airflow.providers.common.sql.operators.sql import (
    SQLColumnCheckOperator,
    SQLExecuteQueryOperator,
)
from airflow.sdk import DAG, Asset, dag, task, task_group

REPORT = Asset("file:///srv/shop/report.csv")
SHOP = {"owner": "shop-team", "retries": 0}
START = datetime(2026, 1, 1)

TABLES = [
    "create table if not exists raw_orders(id int, customer_id int, amount numeric, status text)",
    "create table if not exists customers(id int, name text)",
    "create table if not exists orders_clean(id int, customer_name text, amount numeric)",
    "create table if not exists totals(customer_name text, total numeric)",
]
ROWS = """
insert into raw_orders values (1, 1, 10, 'ok'), (2, 2, 20, 'bad');
insert into customers values (1, 'a'), (2, 'b')
"""
CLEAN = """
insert into orders_clean (id, customer_name, amount)
select o.id, c.name, o.amount * 2 from raw_orders o join customers c on o.customer_id = c.id
where o.status = 'ok'
"""
TOTALS = "insert into totals select customer_name, sum(amount) from orders_clean group by 1"
TOP = """
create table if not exists top as with t as (select * from totals)
select customer_name, total from t order by total desc limit 1
"""

with DAG("shop_elt", schedule=None, start_date=START, default_args=SHOP, tags=["shop"]):
    create = SQLExecuteQueryOperator(task_id="create", conn_id="shop", sql=TABLES)
    load = SQLExecuteQueryOperator(task_id="load", conn_id="shop", sql=ROWS, split_statements=True)
    clean = SQLExecuteQueryOperator(task_id="clean", conn_id="shop", sql=CLEAN)
    check = SQLColumnCheckOperator(
        task_id="check",
        conn_id="shop",
        table="orders_clean",
        column_mapping={"id": {"null_check": {"equal_to": 0}}, "amount": {"max": {"leq_to": 5}}},
    )

    @task_group
    def marts():
        totals = SQLExecuteQueryOperator(task_id="totals", conn_id="shop", sql=TOTALS)
        top = SQLExecuteQueryOperator(task_id="ctas", conn_id="shop", sql=TOP)
        totals >> top

    create >> load >> clean >> [check, marts()]


@dag(schedule=None, start_date=START, default_args=SHOP)
def shop_report():
    """Map a task over regions, of which one fails, and write a report."""

    @task
    def regions() -> list[str]:
        return ["eu", "us", "apac"]

    @task
    def per_region(region: str) -> int:
        if region == "apac":
            raise ValueError("no data for apac")
        return len(region)

    @task(outlets=[REPORT], trigger_rule="all_done")
    def write(_):
        (Path(os.environ["SHOP"]) / "report.csv").write_text("x")

    write(per_region.expand(region=regions()))


shop_report()


@dag(schedule=None, start_date=START, default_args=SHOP)
def shop_ship():
    """Retry a task once, then fail one that reads the report."""

    @task(retries=2, retry_delay=timedelta(seconds=1))
    def flaky(ti=None):
        if ti.try_number == 1:
            raise ConnectionError("SFTP down")

    @task(inlets=[REPORT])
    def ship():
        raise RuntimeError("disk full")

    @task(trigger_rule="all_done")
    def clean():
        pass

    flaky() >> ship() >> clean()


shop_ship()
