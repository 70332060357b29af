"""Check the provenance of the training tables with the lineage server's gate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakehouse.backends import is_embedded
from lakehouse.errors import PipelineError
from lakehouse.lineage_server import lineage_server, wait_for_spool
from lakehouse.names import Table
from lakehouse.settings import Settings

if TYPE_CHECKING:
    import httpx

POLICY = Path(__file__).with_name("gate.yaml")
PASSED = "passed"


class GateRejected(PipelineError):
    """The gate rejected the tables, so no model is trained on them."""


class _Unreachable(Exception):
    """The gate cannot be checked now."""


def check_gate(settings: Settings, tables: Sequence[Table], *, ungated: bool, strict: bool) -> str:
    """Check the gate and return the result to record: `passed`, or `ungated: ` and the reason.

    Raises:
        GateRejected: the tables violate the policy (unless `ungated`), or with `strict` the gate
            cannot be checked.
    """
    try:
        violations = _violations(settings, tables)
    except _Unreachable as error:
        if strict:
            raise GateRejected(
                f"--strict: the gate could not be checked: {error}. Start the lineage server, or "
                "train without --strict."
            ) from None
        return f"ungated: unreachable ({error})"
    if not violations:
        return PASSED
    listed = "\n".join(f"  {violation}" for violation in violations)
    if ungated:
        print(f"warning: the gate is ignored (--ungated):\n{listed}")  # noqa: T201 - task log
        return f"ungated: {'; '.join(violations)}"
    names = ", ".join(table.name for table in tables)
    raise GateRejected(
        f"The provenance gate rejected {names} (policy {POLICY.name}):\n{listed}\n"
        "Fix the cause and load the data again, or train with --ungated, which is recorded."
    )


def _violations(settings: Settings, tables: Sequence[Table]) -> list[str]:
    """Return the rule and message of each violation."""
    import httpx
    import yaml

    if not is_embedded(settings):
        raise _Unreachable(f"the backend {settings.lineage_backend} has no gate")
    names = [table.dataset(settings) for table in tables]
    params = {
        "dataset": [f"dataset:{name.namespace}:{name.name}" for name in names],
        "policy": json.dumps(yaml.safe_load(POLICY.read_text())),
    }
    try:
        with lineage_server(settings, timeout=30) as server:
            _await_spool(server)
            answer = server.get("/api/v2/gate", params=params)
            if answer.status_code == httpx.codes.NOT_FOUND:  # unknown data is rejected
                return [f"sources: {answer.json()['message']}"]
            verdict: dict[str, Any] = answer.raise_for_status().json()
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise _Unreachable(f"{server.base_url}: {error}") from None
    violations = [broken for dataset in verdict["datasets"] for broken in dataset["violations"]]
    return [
        f"{violation['kind']}: {violation['subject']} {violation['message']}"
        + (" (muted)" if violation.get("isMuted") else "")
        for violation in violations
    ]


def _await_spool(server: httpx.Client) -> None:
    if lag := wait_for_spool(server):
        raise _Unreachable(f"the server has not yet read {lag:,} bytes of the spool")
