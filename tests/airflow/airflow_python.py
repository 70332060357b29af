"""Run Python code with Airflow and the plugins, as Airflow's processes do."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from commands.environment import child_environ
from lakehouse.settings import REPOSITORY, Settings


def printed_by(code: str, settings: Settings, mark: str, *arguments: str) -> Any:
    """Run code in its own process; return the JSON that it prints after a mark."""
    path = "import sys; sys.path.append('airflow/plugins')\n"
    done = subprocess.run(
        [sys.executable, "-c", path + code, *arguments],
        cwd=REPOSITORY,
        env=child_environ(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert mark in done.stdout, done.stderr[-3000:]
    return json.loads(done.stdout.rpartition(mark)[2])
