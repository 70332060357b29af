"""The log entry of a user's statement about two names.

A statement joins two names as one dataset, separates two names, or is a rule of two patterns. The
log stores it like an event, so that it also applies to states of the past.
"""

from __future__ import annotations

from typing import Any

from headwater.events import Relation, dump, identity_of, parse_alias, shown_time
from headwater.log import Entry


def make_alias(
    one: tuple[str, str], other: tuple[str, str], time: int, relation: Relation = "same"
) -> Entry:
    """Create an entry with a user's statement about two (namespace, name).

    `time` is in microseconds. The names of a rule are patterns. `reported` removes a statement.

    The caller checks the names first. `relation` "same" joins them, "different" separates them.
    """
    body: dict[str, Any] = {
        "eventTime": shown_time(time),
        "datasets": [{"namespace": name[0], "name": name[1]} for name in (one, other)],
        "isRemoved": relation == "reported",
    }
    if relation in ("different", "rule"):
        body["isSeparate" if relation == "different" else "isRule"] = True
    return Entry(parse_alias(body, identity_of(body)), dump(body).decode())
