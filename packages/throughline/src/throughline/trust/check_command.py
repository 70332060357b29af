"""`throughline check`: compare a contract with the captured lineage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from throughline.config import read_yaml
from throughline.errors import ConfigError, NotFoundError
from throughline.trust.contract import (
    Contract,
    Named,
    captured_of,
    column_differences,
    contract_of,
    differences,
    updated,
)
from throughline.trust.gate_command import named
from throughline.trust.printing import print_check

if TYPE_CHECKING:
    from throughline.console.client import Client
    from throughline.lineage.models import ColumnsAnswer

_HEADER = "# Inputs and outputs of jobs. Compare with `throughline check`; update with `--write`.\n"


class CheckAnswer(TypedDict):
    """The differences from a contract."""

    passed: bool
    differences: list[dict[str, str]]


def run_check(client: Client, file: Path, *, write: bool) -> bool:
    """Compare and print, or write the contract; return True if there are no differences."""
    if not file.exists() and not write:
        raise ConfigError(
            f"{file}: file not found; pass the contract's path, or create it from the captured"
            " lineage with `throughline check --write`"
        )
    try:
        contract = contract_of(read_yaml(file)) if file.exists() else None
    except ConfigError as error:
        raise named(file, error) from None
    level = contract.level if contract else "task"
    captured = captured_of(client.items("edges", {"level": level}))
    if write:
        import yaml

        body = updated(contract, captured).to_dict()
        text = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=1000)
        file.write_text(_HEADER + text)
        return True
    answer: CheckAnswer = {"passed": True, "differences": []}
    if contract:
        found = [*differences(contract, captured), *_column_differences(client, contract)]
        answer = {"passed": not found, "differences": found}
    client.show(answer, print_check)
    return answer["passed"]


def _column_differences(client: Client, contract: Contract) -> Iterator[dict[str, str]]:
    for job, declared in contract.jobs.items():
        for dataset, columns in declared.columns.items():
            captured = _captured_columns(client, job, dataset)
            yield from column_differences(job, dataset, columns, captured)


def _captured_columns(client: Client, job: str, dataset: str) -> dict[str, list[Named]]:
    """Return, by column of a dataset, the columns that the job computes it from."""
    try:
        answer: ColumnsAnswer = client.query("columns", {"node": dataset, "depth": 1})
    except NotFoundError:
        return {}
    return {
        column["field"] or "": [
            Named(((origin["namespace"], f"{origin['name']}.{origin['field']}"),))
            for origin in column["children"]
            if origin["job"].endswith(job) or job.endswith(origin["job"])
        ]
        for column in answer["up"]["children"]
    }
