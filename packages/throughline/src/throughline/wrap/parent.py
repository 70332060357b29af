"""Which run started this one, as the environment says, and what the runs below are told.

Airflow's macros, dbt and metaflow-openlineage write OPENLINEAGE_PARENT_ID and
OPENLINEAGE_ROOT_PARENT_ID as `namespace/job/runId`; openlineage-python reads the JSON of
OPENLINEAGE_CONTEXT before them. Both are read, and both are written for the command.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

PARENT, ROOT = "OPENLINEAGE_PARENT_ID", "OPENLINEAGE_ROOT_PARENT_ID"
CONTEXT = "OPENLINEAGE_CONTEXT"


class RunRef(NamedTuple):
    """One run of one job."""

    namespace: str
    job: str
    run_id: str

    def facet(self) -> dict[str, Any]:
        """The run as the parent facet names it."""
        return {
            "run": {"runId": self.run_id},
            "job": {"namespace": self.namespace, "name": self.job},
        }


def parents(environment: Mapping[str, str]) -> tuple[RunRef, RunRef] | None:
    """The parent run and the root run; None without a parent, or with one that is not readable."""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        told = json.loads(environment.get(CONTEXT, ""))["parent"]
        return _of_facet(told), _of_facet(told.get("root") or told)
    parent = _of_text(environment.get(PARENT, ""))
    return (parent, _of_text(environment.get(ROOT, "")) or parent) if parent else None


def told_to_children(ref: RunRef, root: RunRef) -> dict[str, str]:
    """The variables for a command that is the run `ref`."""
    context = {"parent": {**ref.facet(), "root": root.facet()}}
    return {PARENT: "/".join(ref), ROOT: "/".join(root), CONTEXT: json.dumps(context)}


def _of_facet(told: Any) -> RunRef:
    job = told["job"]
    return RunRef(job["namespace"], job["name"], str(uuid.UUID(told["run"]["runId"])))


def _of_text(text: str) -> RunRef | None:
    """Of `namespace/job/runId` only the namespace may hold slashes."""
    first, _, run_id = text.strip().rpartition("/")
    namespace, _, job = first.rpartition("/")
    with suppress(ValueError):
        return RunRef(namespace, job, str(uuid.UUID(run_id))) if namespace and job else None
    return None
