"""`throughline gate`: check the provenance of datasets against a policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from throughline.config import read_yaml
from throughline.errors import ConfigError
from throughline.trust.policy import policy_of
from throughline.trust.printing import print_gate

if TYPE_CHECKING:
    from throughline.console.client import Client


def run_gate(client: Client, datasets: list[str], file: Path | None) -> bool:
    """Print the answer; return True if all datasets passed."""
    params: dict[str, object] = {"dataset": datasets}
    if file is not None:
        try:
            params["policy"] = json.dumps(policy_of(read_yaml(file)).info())
        except ConfigError as error:
            raise named(file, error) from None
    return bool(client.print("gate", params, print_gate)["passed"])


def named(file: Path, error: ConfigError) -> ConfigError:
    """Return the error of a file, with its name first."""
    return error if str(error).startswith(str(file)) else ConfigError(f"{file}: {error}")
