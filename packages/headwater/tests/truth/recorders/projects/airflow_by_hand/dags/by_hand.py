"""DAGs whose runs a person changes by hand, and a mapped task of which one element fails.

`Load` reports its inputs and outputs like a custom operator, even if it fails.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from airflow.providers.common.compat.openlineage.facet import Dataset
from airflow.providers.openlineage.extractors import OperatorLineage
from airflow.sdk import DAG, BaseOperator

_NAMESPACE = "postgres://airflow-by-hand:5432"


class Load(BaseOperator):
    """Read and write tables; `action` is `fail`, `wait` or `ok`."""

    template_fields = ("reads", "writes")

    def __init__(
        self, reads: Iterable[str] = (), writes: Iterable[str] = (), action: str = "ok", **kw: Any
    ) -> None:
        super().__init__(**kw)
        self.reads, self.writes, self.action = list(reads), list(writes), action

    def execute(self, context: Any) -> None:
        """Fail, wait until the task is stopped, or do nothing."""
        if self.action == "fail":
            raise RuntimeError("bad rows")
        if self.action == "wait":
            time.sleep(60)

    def get_openlineage_facets_on_start(self) -> OperatorLineage:
        """Return the tables."""
        return OperatorLineage(
            inputs=[Dataset(_NAMESPACE, name) for name in self.reads],
            outputs=[Dataset(_NAMESPACE, name) for name in self.writes],
        )

    def get_openlineage_facets_on_complete(self, _: Any) -> OperatorLineage:
        """Return the tables."""
        return self.get_openlineage_facets_on_start()

    get_openlineage_facets_on_failure = get_openlineage_facets_on_complete


def _dag(name: str) -> DAG:
    return DAG(
        name,
        start_date=datetime(2026, 11, 1),
        schedule=None,
        is_paused_upon_creation=False,
    )


with _dag("task_marked"):
    bad = Load(task_id="load", reads=["db.src.a"], writes=["db.raw.a"], action="fail")
    bad >> Load(task_id="next", reads=["db.raw.a"], writes=["db.mart.a"])

with _dag("run_marked"):
    slow = Load(task_id="load", reads=["db.src.b"], writes=["db.raw.b"], action="wait")
    slow >> Load(task_id="next", reads=["db.raw.b"], writes=["db.mart.b"])

with _dag("mapped"):
    Load.partial(task_id="load").expand_kwargs(
        [
            {"reads": ["db.src.m1"], "writes": ["db.raw.m1"], "action": "ok"},
            {"reads": ["db.src.m2"], "writes": ["db.raw.m2"], "action": "fail"},
            {"reads": ["db.src.m3"], "writes": ["db.raw.m3"], "action": "ok"},
        ]
    )
