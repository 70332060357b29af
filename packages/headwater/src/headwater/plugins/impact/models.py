"""Paths between nodes."""

from __future__ import annotations

from headwater.query.models import Answer, NodeRef


class PathNode(NodeRef):
    """A node of a path."""

    isControl: bool
    """True if the edge from the previous node is a control dependency, not a data edge."""


class PathAnswer(Answer):
    """The nodes of the shortest path, from upstream to downstream."""

    level: str
    path: list[PathNode]
    isReversed: bool
    """True if the path leads from `to` to `from`."""
