"""Tasks that check the provenance of tables with the lineage server's gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseSensorOperator, Context
from lineage_operator import LineageOperator

from lakehouse.gate import GateRejected, check_gate
from lakehouse.names import Table
from lakehouse.settings import load_settings

POLL_SECONDS, TIMEOUT_SECONDS = 10, 180
"""Events may arrive after the asset that triggered the run, so the sensor checks repeatedly."""


class GateTask(LineageOperator):
    """A task that checks the gate. It reads lineage and no rows, so it has no inputs.

    With `strict` it fails if the gate cannot be checked. `ungated` records violations only.
    """

    def __init__(
        self, *, tables: Sequence[Table], strict: bool = False, ungated: bool = False, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.tables = list(tables)
        self.strict = strict
        self.ungated = ungated

    def check(self) -> str:
        """Return the gate's result; raise GateRejected if it rejects the tables."""
        settings = load_settings()
        result = check_gate(settings, self.tables, ungated=self.ungated, strict=self.strict)
        self.log.info("Gate: %s", result)
        return result


class ProvenanceOperator(GateTask):
    """Check the gate once; the task fails if it rejects the tables."""

    def execute(self, context: Context) -> str:
        return self.check()


class ProvenanceSensor(GateTask, BaseSensorOperator):
    """Wait until the gate approves the tables; the task's log has the violations."""

    def poke(self, context: Context) -> bool:
        """Return True if the gate approves the tables."""
        try:
            self.check()
        except GateRejected as error:
            self.log.warning("%s", error)
            return False
        return True
