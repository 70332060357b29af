"""`throughline gate`: may these datasets be used? The exit code answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from throughline.config import read_yaml
from throughline.errors import ConfigError, LogError, UnreachableError
from throughline.trust.policy import policy_of

if TYPE_CHECKING:
    from throughline.cli.ask import Ask

PASSED, REFUSED, UNREACHABLE = 0, 1, 3


def run_gate(ask: Ask, datasets: list[str], file: Path | None) -> int:
    """Ask, print the answer, and tell the exit code; a file that cannot be used is wrong usage."""
    params: dict[str, Any] = {"dataset": datasets}
    if file is not None:
        try:
            params["policy"] = json.dumps(policy_of(read_yaml(file)).plain())
        except ConfigError as error:
            raise typer.BadParameter(named(file, error), param_hint="--policy") from None
    try:
        return PASSED if ask("gate", params)["passed"] else REFUSED
    except (UnreachableError, LogError) as error:
        sys.stderr.write(f"throughline: {error}\n")
        return UNREACHABLE


def named(file: Path, error: ConfigError) -> str:
    """What is wrong with a file, after its name."""
    return str(error) if str(error).startswith(str(file)) else f"{file}: {error}"
