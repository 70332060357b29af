"""`throughline run`: run a command as a job."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urljoin

from throughline.settings import Settings
from throughline.wrap.declared import read_declared
from throughline.wrap.parent import PARENT, parents
from throughline.wrap.process import end_like, run_command
from throughline.wrap.report import ENDPOINT, Report


def run_as_job(
    settings: Settings,
    file: Path,
    command: Sequence[str],
    heartbeat: float,
    *,
    url: str | None,
    api_key: str | None,
) -> int:
    """Run the command and return its exit code; a signal that ended it ends this process.

    `url` and `api_key` are command-line options.
    """
    environment = os.environ
    if environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        os.execvpe(command[0], list(command), environment)
    declared = read_declared(file, environment)
    if environment.get(PARENT) and not parents(environment):
        value = environment[PARENT]
        sys.stderr.write(f"throughline: ignored {PARENT}={value!r}; expected namespace/job/runId\n")
    report = _report(settings, environment, url, api_key)
    return end_like(run_command(declared, command, report, heartbeat, environment))


def _report(
    settings: Settings, environment: Mapping[str, str], url: str | None, api_key: str | None
) -> Report:
    """Return the destination of the events, from the first of these that is set.

    1. The options: a spool, a server, or both.
    2. The variables THROUGHLINE_SPOOL, or else THROUGHLINE_URL.
    3. OPENLINEAGE_URL, with OPENLINEAGE_ENDPOINT and OPENLINEAGE_API_KEY.
    4. The default server.
    """
    if url is not None:
        return Report(settings.spool, settings.url, settings.api_key)
    if settings.spool:
        return Report(settings.spool, None)
    openlineage_url = environment.get("OPENLINEAGE_URL", "").strip()
    if environment.get("THROUGHLINE_URL") or not openlineage_url:
        return Report(None, settings.url, settings.api_key)
    # Like openlineage-python: a last part of the URL without a slash is replaced.
    address = urljoin(openlineage_url, environment.get("OPENLINEAGE_ENDPOINT") or ENDPOINT)
    return Report(None, openlineage_url, api_key or environment.get("OPENLINEAGE_API_KEY"), address)
