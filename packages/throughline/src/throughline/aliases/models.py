"""Models of aliases."""

from __future__ import annotations

from throughline.query.models import Answer, Name


class AliasPair(Answer):
    """Two names that a user joined."""

    one: Name
    other: Name
    since: str | None
