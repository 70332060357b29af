"""`throughline alias`: add and remove manual aliases."""

from __future__ import annotations

import json
import time
from contextlib import closing

from throughline.config import Settings
from throughline.console.source import request


def run_alias(
    settings: Settings, one: str, other: str, *, is_removed: bool, is_local: bool
) -> None:
    """Join two names, or separate them if `is_removed`."""
    if not is_local:
        body = {"one": one, "other": other, "isRemoved": is_removed}
        request(settings, "/api/v2/aliases", json.dumps(body).encode())
        return
    from throughline.aliases.service import alias_entry
    from throughline.log import EventLog
    from throughline.projection.live import Batch, Live

    with closing(EventLog(settings.database, must_exist=True)) as log:
        live = Live(log)
        now = time.time_ns() // 1_000
        with live.reading() as state:
            entry = alias_entry(state, one, other, now, is_removed=is_removed)
        live.ingest(Batch([entry]))
