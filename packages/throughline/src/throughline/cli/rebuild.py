"""`throughline rebuild`: does the projection follow from the log, in whatever order?"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from throughline.cli.export import events_of
from throughline.cli.render import print_json, print_line
from throughline.cli.source import every, open_source
from throughline.config import Settings
from throughline.errors import ServerError
from throughline.words import counted

_TRIES = 3
_SHOWN = 40  # lines of a difference


def run_rebuild(settings: Settings, *, is_local: bool, as_json: bool) -> bool:
    """Print how the running projection and one made anew compare; answers whether they are equal.

    The new one is made of the events in the reverse order of the log's, or of their times. The
    snapshots that a log's own running one begins with are dropped, be they right or wrong.
    """
    running, events, anew = _compare(settings, is_local=is_local)
    if is_local:
        _drop_snapshots(settings)
    lines = [] if running == anew else list(_differences(running, anew))
    if as_json:
        print_json({"isEqual": not lines, "events": events, "differences": lines})
        return not lines
    counts = ", ".join(counted(len(anew[f"{part}s"]), part) for part in ("job", "run", "dataset"))
    print_line(f"{counted(events, 'event')}: {counts}, {'equal' if not lines else 'but not equal'}")
    for line in lines[:_SHOWN]:
        print_line(f"  {line}")
    if len(lines) > _SHOWN:
        print_line(f"  … and {len(lines) - _SHOWN} lines more (--json)")
    return not lines


def _compare(settings: Settings, *, is_local: bool) -> tuple[Any, int, Any]:
    from throughline.identity import DatasetName
    from throughline.log import entry_of
    from throughline.projection import export, project

    ask = open_source(settings, is_local=is_local)
    before = _plain(ask("export", {}))
    for _ in range(_TRIES):
        bodies = [json.dumps(event).encode() for event in events_of(settings, is_local=is_local)]
        anew = project(entry_of(body).event for body in reversed(bodies))
        pairs = [(each["one"], each["other"]) for each in every(ask, "aliases", {})]
        anew.identity.join_manually({(DatasetName(**a), DatasetName(**b)) for a, b in pairs})
        after = _plain(ask("export", {}))
        if before == after:
            return after, len(bodies), _plain(export(anew))
        before = after
    raise ServerError(
        f"{settings.database if is_local else settings.url} takes events faster than they can be"
        " read: ask again when it is quieter"
    )


def _drop_snapshots(settings: Settings) -> None:
    from throughline.log import EventLog, Snapshots

    event_log = EventLog(settings.database, must_exist=True)
    Snapshots(event_log).clear()
    event_log.close()


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _differences(running: Any, anew: Any) -> Iterator[str]:
    """Lines of JSON that only one of them has: - of the running one, + of the new one."""
    old, new = (json.dumps(each, indent=1).splitlines() for each in (running, anew))
    for line in difflib.unified_diff(old, new, "running", "anew", n=1, lineterm=""):
        if line[0] in "+-":
            yield line
