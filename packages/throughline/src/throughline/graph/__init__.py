"""The lineage graph at a level of detail. ARCHITECTURE.md has a glossary of its terms."""

from __future__ import annotations

from throughline.graph.edges import LevelGraph, control_edges
from throughline.graph.effective import Latest
from throughline.graph.generations import Generations
from throughline.graph.levels import Level, Levels
from throughline.graph.nodes import Node, find_node, node_id
from throughline.graph.run_edges import Edges

__all__ = [
    "Edges",
    "Generations",
    "Latest",
    "Level",
    "LevelGraph",
    "Levels",
    "Node",
    "control_edges",
    "find_node",
    "node_id",
]
