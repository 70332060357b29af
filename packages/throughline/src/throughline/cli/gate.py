"""`throughline gate`: may these datasets be used? The exit code answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from throughline.config import read_yaml
from throughline.errors import ConfigError
from throughline.trust.policy import policy_of

if TYPE_CHECKING:
    from throughline.cli.ask import Ask


def run_gate(ask: Ask, datasets: list[str], file: Path | None) -> bool:
    """Ask, print the answer, and tell whether all passed."""
    params: dict[str, Any] = {"dataset": datasets}
    if file is not None:
        try:
            params["policy"] = json.dumps(policy_of(read_yaml(file)).info())
        except ConfigError as error:
            raise named(file, error) from None
    return bool(ask("gate", params)["passed"])


def named(file: Path, error: ConfigError) -> ConfigError:
    """What is wrong with a file, after its name."""
    return error if str(error).startswith(str(file)) else ConfigError(f"{file}: {error}")
