"""The gate before training: whether lineage vouches for the tables that a model is made of."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lakehouse.backends import is_embedded
from lakehouse.errors import PipelineError
from lakehouse.lineage_server import lineage_server
from lakehouse.names import Table
from lakehouse.settings import Settings

POLICY = Path(__file__).with_name("gate.yaml")
PASSED = "passed"
_PATIENCE = 20.0  # seconds in which the server has to have read what this machine has spooled


class NotVouched(PipelineError):
    """Lineage does not vouch for the tables, so that nothing is trained on them."""


class _NoAnswer(Exception):
    """Whether it does cannot be known now."""


def ask_gate(settings: Settings, tables: Sequence[Table], *, ungated: bool, strict: bool) -> str:
    """Ask, and answer what to record: `passed`, or `ungated: ` and why it is.

    Raises:
        NotVouched: the tables do not meet the policy (unless `ungated`), or with `strict` nobody
            could tell.
    """
    try:
        violations = _violations(settings, tables)
    except _NoAnswer as error:
        if strict:
            raise NotVouched(f"--strict: the gate gave no answer: {error}") from None
        return f"ungated: unreachable ({error})"
    if not violations:
        return PASSED
    listed = "\n".join(f"  {each}" for each in violations)
    if ungated:
        print(f"warning: trained all the same (--ungated):\n{listed}")  # noqa: T201 - task log
        return f"ungated: {'; '.join(violations)}"
    names = ", ".join(table.name for table in tables)
    raise NotVouched(
        f"Lineage does not vouch for {names} (policy {POLICY.name}):\n{listed}\n"
        "Mend that and load again, or train all the same with --ungated, which is recorded."
    )


def _violations(settings: Settings, tables: Sequence[Table]) -> list[str]:
    """Rule and place of each violation."""
    import httpx
    import yaml

    if not is_embedded(settings):
        raise _NoAnswer(f"no gate at the backend {settings.lineage_backend}")
    names = [table.dataset(settings) for table in tables]
    asked = {
        "dataset": [f"dataset:{name.namespace}:{name.name}" for name in names],
        "policy": json.dumps(yaml.safe_load(POLICY.read_text())),
    }
    try:
        with lineage_server(settings, timeout=30) as server:
            _await_spool(server)
            answer = server.get("/api/v2/gate", params=asked)
            if answer.status_code == httpx.codes.NOT_FOUND:  # unknown data is not vouched for
                return [f"sources: {answer.json()['message']}"]
            told: dict[str, Any] = answer.raise_for_status().json()
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise _NoAnswer(f"{server.base_url}: {error}") from None
    found = [each for one in told["datasets"] for each in one["violations"]]
    return [f"{each['kind']}: {each['subject']} {each['message']}" for each in found]


def _await_spool(server: Any) -> None:
    """Wait until the server has read all that was spooled before now."""
    until = time.monotonic() + _PATIENCE
    while (lag := _lag(server)) and time.monotonic() < until:
        time.sleep(0.2)  # between two looks at the spool
    if lag:
        raise _NoAnswer(f"{lag:,} bytes of the spool are not read yet")


def _lag(server: Any) -> int:
    spool = server.get("/healthz").raise_for_status().json().get("spool", {})
    return int(spool.get("lagBytes", 0))
