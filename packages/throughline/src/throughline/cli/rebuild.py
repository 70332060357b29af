"""`throughline rebuild`: compare the projection with one rebuilt from the events."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from throughline.config import Settings
from throughline.console.render import print_json, print_line
from throughline.console.source import every, open_source
from throughline.console.words import counted
from throughline.errors import ServerError
from throughline.export.export import events_of

if TYPE_CHECKING:
    from throughline.aliases.models import AliasPair
    from throughline.query.models import Json

_ATTEMPTS = 3
_SHOWN = 40  # lines of a difference


def run_rebuild(settings: Settings, *, is_local: bool, as_json: bool) -> bool:
    """Print the differences between the present and a rebuilt projection; return True if equal.

    Events are read in the reverse order of the log, or of their times on a server. The snapshots of
    a local log are deleted.
    """
    current, events, rebuilt = _compare(settings, is_local=is_local)
    if is_local:
        _drop_snapshots(settings)
    lines = [] if current == rebuilt else list(_differences(current, rebuilt))
    if as_json:
        print_json({"isEqual": not lines, "events": events, "differences": lines})
        return not lines
    counts = ", ".join(
        counted(len(rebuilt[f"{part}s"]), part) for part in ("job", "run", "dataset")
    )
    print_line(f"{counted(events, 'event')}: {counts}, {'equal' if not lines else 'different'}")
    for line in lines[:_SHOWN]:
        print_line(f"  {line}")
    if len(lines) > _SHOWN:
        print_line(f"  … and {len(lines) - _SHOWN} lines more (--json)")
    return not lines


def _compare(settings: Settings, *, is_local: bool) -> tuple[Json, int, Json]:
    """Return the present projection, the number of events and the rebuilt projection."""
    from throughline.export.projection import export
    from throughline.identity import DatasetName
    from throughline.log import entry_of
    from throughline.projection import project

    source = open_source(settings, is_local=is_local)
    before = _plain(source("export", {}))
    for _ in range(_ATTEMPTS):
        bodies = [json.dumps(event).encode() for event in events_of(settings, is_local=is_local)]
        rebuilt = project(entry_of(body).event for body in reversed(bodies))
        aliases: Iterator[AliasPair] = every(source, "aliases", {})
        pairs = [(alias["one"], alias["other"]) for alias in aliases]
        rebuilt.identity.join_manually({(DatasetName(**a), DatasetName(**b)) for a, b in pairs})
        after = _plain(source("export", {}))
        if before == after:
            return after, len(bodies), _plain(export(rebuilt))
        before = after
    raise ServerError(
        f"{settings.database if is_local else settings.url} receives events faster than they can be"
        " read; retry when fewer events arrive"
    )


def _drop_snapshots(settings: Settings) -> None:
    from throughline.log import EventLog
    from throughline.projection.snapshots.table import Snapshots

    event_log = EventLog(settings.database, must_exist=True)
    Snapshots(event_log).clear()
    event_log.close()


def _plain(value: object) -> Json:
    """Return a value as it is after a round trip through JSON."""
    plain: Json = json.loads(json.dumps(value))
    return plain


def _differences(current: Json, rebuilt: Json) -> Iterator[str]:
    """Yield JSON lines of only one projection: - of the current, + of the rebuilt one."""
    old, new = (json.dumps(part, indent=1).splitlines() for part in (current, rebuilt))
    for line in difflib.unified_diff(old, new, "current", "rebuilt", n=1, lineterm=""):
        if line[0] in "+-":
            yield line
