"""References to runs, and the parent and root run in environment variables.

Airflow's macros, dbt and metaflow-openlineage write OPENLINEAGE_PARENT_ID and
OPENLINEAGE_ROOT_PARENT_ID as `namespace/job/runId`. openlineage-python prefers the JSON of
OPENLINEAGE_CONTEXT. Both forms are read, and both are set for child processes.
"""

from __future__ import annotations

import json
import secrets
import time
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

    @classmethod
    def new(cls, namespace: str, job: str) -> RunRef:
        """Return a run with a new id, a UUID that is ordered by time (RFC 9562, version 7).

        openlineage-python could generate it too, but takes too long to import.
        """
        number = time.time_ns() // 1_000_000 << 80 | secrets.randbits(80)
        number = number & ~(0xF << 76) | 7 << 76
        return cls(namespace, job, str(uuid.UUID(int=number & ~(0b11 << 62) | 0b10 << 62)))

    @classmethod
    def parse(cls, text: str) -> RunRef | None:
        """Parse `namespace/job/runId`; only the namespace may contain slashes."""
        first, _, run_id = text.strip().rpartition("/")
        namespace, _, job = first.rpartition("/")
        with suppress(ValueError):
            return cls(namespace, job, str(uuid.UUID(run_id))) if namespace and job else None
        return None

    def __str__(self) -> str:
        return "/".join(self)


def parents(environment: Mapping[str, str]) -> tuple[RunRef, RunRef] | None:
    """Return the parent run and the root run; None if there is no valid parent."""
    if context_parents := _parents_of_context(environment):
        return context_parents
    parent = RunRef.parse(environment.get(PARENT, ""))
    return (parent, RunRef.parse(environment.get(ROOT, "")) or parent) if parent else None


def parent_problems(environment: Mapping[str, str]) -> list[str]:
    """Return a message for each variable whose value does not identify a run.

    PARENT and ROOT are ignored if CONTEXT contains a valid parent run.
    """
    if _parents_of_context(environment):
        return []
    texts = {name: environment.get(name, "") for name in (PARENT, ROOT)}
    messages = [
        f"ignored {name}={text!r}; expected namespace/job/runId, where runId is a UUID"
        for name, text in texts.items()
        if text and not RunRef.parse(text)
    ]
    if context := environment.get(CONTEXT):
        messages.append(
            f"ignored {CONTEXT}={context!r}; expected a JSON object with the parent run"
        )
    return messages


def child_environment(ref: RunRef, root: RunRef) -> dict[str, str]:
    """Return the variables that make the runs of a child process children of the run `ref`."""
    parent, root_facet = (
        {"run": {"runId": run.run_id}, "job": {"namespace": run.namespace, "name": run.job}}
        for run in (ref, root)
    )
    context = {"parent": {**parent, "root": root_facet}}
    return {PARENT: str(ref), ROOT: str(root), CONTEXT: json.dumps(context)}


def _parents_of_context(environment: Mapping[str, str]) -> tuple[RunRef, RunRef] | None:
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        facet = json.loads(environment.get(CONTEXT, ""))["parent"]
        return _ref_of_facet(facet), _ref_of_facet(facet.get("root") or facet)
    return None


def _ref_of_facet(facet: Any) -> RunRef:
    job = facet["job"]
    return RunRef(job["namespace"], job["name"], str(uuid.UUID(facet["run"]["runId"])))
