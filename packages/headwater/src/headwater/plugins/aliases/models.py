"""Models of aliases."""

from __future__ import annotations

from headwater.query.models import Answer, Name


class AliasPair(Answer):
    """Two names that a user joined, or separated although a symlink joins them."""

    one: Name
    other: Name
    isSeparate: bool
    since: str | None
