"""A DAG whose tasks report lineage through the API of Airflow's OpenLineage provider.

One element of the mapped task fails; the last task runs nevertheless.
"""

from __future__ import annotations

from airflow.providers.openlineage.api import emit_dataset_lineage, emit_query_lineage
from airflow.providers.openlineage.api.emission_policy import (
    extend_global_openlineage_emission_policy,
)
from airflow.sdk import Asset, dag, task
from openlineage.client.event_v2 import Dataset

DATABASE = "postgres://shop:5432"
REPORT = Asset("file:///srv/shop/report.csv")


@dag(dag_id="shop", schedule=None, catchup=False)
def shop() -> None:
    """Load orders, compute totals and write a report."""

    @task
    def load() -> None:
        emit_dataset_lineage(
            inputs=[Dataset("file", "/srv/shop/orders.csv")],
            outputs=[Dataset(DATABASE, "shop.public.orders")],
        )

    @task
    def query() -> list[str]:
        emit_query_lineage(
            query_text="INSERT INTO public.totals SELECT day, sum(x) FROM public.orders GROUP BY 1",
            query_source_namespace=DATABASE,
            default_database="shop",
            default_schema="public",
        )
        return ["eu", "us", "apac"]

    @task
    def per_region(region: str) -> None:
        if region == "apac":
            raise ValueError("no data for apac")

    @task
    def private() -> None:
        """Read data that must not be in the lineage."""

    @task(outlets=[REPORT], trigger_rule="all_done")
    def write() -> None:
        pass

    hidden = private()
    extend_global_openlineage_emission_policy(hidden, emit=False)  # type: ignore[type-var]
    load() >> (regions := query())
    per_region.expand(region=regions) >> [write(), hidden]


shop()
