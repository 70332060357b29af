"""`throughline check`: a contract against what was captured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from throughline.cli.gate import named
from throughline.config import read_yaml
from throughline.errors import ConfigError, NotFoundError
from throughline.trust.contract import (
    Contract,
    Named,
    captured_of,
    column_differences,
    contract_of,
    differences,
    rewritten,
)

if TYPE_CHECKING:
    from throughline.cli.ask import Ask

_HEAD = (
    "# What jobs read and write: `throughline check` compares, `--write` makes this file anew.\n"
)


def run_check(ask: Ask, file: Path, *, write: bool) -> bool:
    """Compare and print, or write; whether all is as declared."""
    if not file.exists() and not write:
        raise ConfigError(
            f"{file}: there is no such file; give the contract's, or have "
            "`throughline check --write` make it of what jobs read and write now"
        )
    try:
        contract = contract_of(read_yaml(file)) if file.exists() else None
    except ConfigError as error:
        raise named(file, error) from None
    level = contract.level if contract else "task"
    captured = captured_of(ask.every("edges", {"level": level}))
    if write:
        import yaml

        body = rewritten(contract, captured).plain()
        text = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=1000)
        file.write_text(_HEAD + text)
        return True
    found = list(differences(contract, captured)) if contract else []
    if contract:
        found += _of_columns(ask, contract)
    ask.show("check", {"passed": not found, "differences": found})
    return not found


def _of_columns(ask: Ask, contract: Contract) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for job, declared in contract.jobs.items():
        for dataset, made in declared.columns.items():
            found += column_differences(job, dataset, made, _seen(ask, job, dataset))
    return found


def _seen(ask: Ask, job: str, dataset: str) -> dict[str, list[Named]]:
    """Of each column of a dataset the columns that the job made it of."""
    try:
        told = ask.answer("columns", {"node": dataset, "depth": 1})["up"]["children"]
    except NotFoundError:
        return {}
    return {
        leaf["field"]: [
            Named(((each["namespace"], f"{each['name']}.{each['field']}"),))
            for each in leaf["children"]
            if each["job"].endswith(job) or job.endswith(each["job"])
        ]
        for leaf in told
    }
