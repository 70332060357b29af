"""Paths between nodes."""

from __future__ import annotations

from headwater.query.models import Answer, NodeRef


class PathNode(NodeRef):
    """A node of a path."""

    isControl: bool
    """True if a control dependency, not data, leads from the previous node to this one."""


class PathAnswer(Answer):
    """The nodes of the shortest path, in the direction of the data."""

    level: str
    path: list[PathNode]
    isReversed: bool
    """True if the data flows from `to` to `from`."""
