"""DAGs with branches, skipped, mapped, grouped and retried tasks, setup, teardown and aliases.

`Load` reports its inputs and outputs like a custom operator, even if it fails or skips itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from airflow.providers.common.compat.openlineage.facet import Dataset
from airflow.providers.openlineage.extractors import OperatorLineage
from airflow.providers.standard.operators.python import BranchPythonOperator, ShortCircuitOperator
from airflow.sdk import DAG, Asset, AssetAlias, BaseOperator, TaskGroup, task
from airflow.sdk.exceptions import AirflowSkipException
from airflow.task.trigger_rule import TriggerRule

_NAMESPACE = "postgres://airflow-control-flow:5432"


class Load(BaseOperator):
    """Read and write tables; `action` is `fail`, `fail_first`, `skip` or `ok`."""

    template_fields = ("reads", "writes")

    def __init__(
        self, reads: Iterable[str] = (), writes: Iterable[str] = (), action: str = "ok", **kw: Any
    ) -> None:
        super().__init__(**kw)
        self.reads, self.writes, self.action = list(reads), list(writes), action

    def execute(self, context: Any) -> None:
        """Fail, skip the task or do nothing."""
        if self.action == "skip":
            raise AirflowSkipException("nothing to load")
        if self.action == "fail" or (self.action == "fail_first" and context["ti"].try_number < 2):
            raise RuntimeError("bad rows")

    def get_openlineage_facets_on_complete(self, _: Any) -> OperatorLineage:
        """Return the tables."""
        return OperatorLineage(
            inputs=[Dataset(_NAMESPACE, name) for name in self.reads],
            outputs=[Dataset(_NAMESPACE, name) for name in self.writes],
        )

    get_openlineage_facets_on_failure = get_openlineage_facets_on_complete


def _dag(name: str) -> DAG:
    return DAG(name, start_date=datetime(2026, 11, 1), schedule="@daily", catchup=False)


with _dag("groups"):
    with TaskGroup("extract") as extract:
        Load(task_id="orders", reads=["db.src.orders"], writes=["db.raw.orders"])
        Load(task_id="items", reads=["db.src.items"], writes=["db.raw.items"])
    with TaskGroup("transform") as transform:
        with TaskGroup("inner"):
            orders = Load(task_id="orders", reads=["db.raw.orders"], writes=["db.stg.orders"])
        join = Load(
            task_id="join", reads=["db.stg.orders", "db.raw.items"], writes=["db.mart.sales"]
        )
        orders >> join
    extract >> transform

with _dag("mapped"):
    with TaskGroup("per_file") as group:
        Load.partial(task_id="load").expand_kwargs(
            [
                {"reads": ["db.src.f1"], "writes": ["db.raw.f1"], "action": "ok"},
                {"reads": ["db.src.f2"], "writes": ["db.raw.f2"], "action": "fail"},
                {"reads": ["db.src.f3"], "writes": ["db.raw.f3"], "action": "skip"},
            ]
        )
    group >> Load(
        task_id="union",
        reads=["db.raw.f1", "db.raw.f2", "db.raw.f3"],
        writes=["db.mart.union"],
        trigger_rule=TriggerRule.ALL_DONE,
    )

with _dag("cluster"):
    create = Load(task_id="create", writes=["db.tmp.work"]).as_setup()
    work = Load(task_id="work", reads=["db.tmp.work", "db.src.orders"], writes=["db.mart.cluster"])
    delete = Load(task_id="delete", action="fail").as_teardown(setups=create)
    create >> work >> delete

with _dag("branch"):
    choose = BranchPythonOperator(task_id="choose", python_callable=lambda: "full")
    full = Load(task_id="full", reads=["db.src.x"], writes=["db.mart.x"])
    incremental = Load(task_id="incremental", reads=["db.src.x_changes"], writes=["db.mart.x"])
    after = Load(
        task_id="after",
        reads=["db.mart.x"],
        writes=["db.mart.y"],
        trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS,
    )
    choose >> [full, incremental] >> after

with _dag("skips"):
    has_data = ShortCircuitOperator(task_id="has_data", python_callable=lambda: False)
    has_data >> Load(task_id="load", reads=["db.src.s"], writes=["db.mart.s"])
    Load(task_id="skips", reads=["db.src.s"], writes=["db.mart.skipped"], action="skip")

    @task(outlets=[Asset("s3://airflow-control-flow/skipped.parquet")])
    def export() -> None:
        """Skip the export."""
        raise AirflowSkipException("nothing to export")

    export()

with _dag("all_done"):
    load = Load(task_id="load", reads=["db.src.p"], writes=["db.raw.p"], action="fail")
    load >> Load(
        task_id="report",
        reads=["db.raw.p"],
        writes=["db.mart.p"],
        trigger_rule=TriggerRule.ALL_DONE,
    )

with _dag("alias"):

    @task(outlets=[AssetAlias("daily")])
    def produce(*, outlet_events: Any) -> None:
        """Write a file whose name is determined during the run."""
        outlet_events[AssetAlias("daily")].add(Asset("s3://airflow-control-flow/daily/1.parquet"))

    @task(
        inlets=[Asset("s3://airflow-control-flow/in.parquet")],
        outlets=[Asset("s3://airflow-control-flow/out.parquet")],
    )
    def copy() -> None:
        """Copy a file."""

    produce() >> copy()

with _dag("retried"):
    first = Load(
        task_id="load",
        reads=["db.src.r"],
        writes=["db.raw.r"],
        action="fail_first",
        retries=1,
        retry_delay=timedelta(0),
    )
    first >> Load(task_id="next", reads=["db.raw.r"], writes=["db.mart.r"])
