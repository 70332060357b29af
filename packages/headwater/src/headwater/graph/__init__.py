"""The lineage graph at a level of detail. ARCHITECTURE.md has a glossary of its terms."""

from __future__ import annotations

from headwater.graph.edges import LevelGraph
from headwater.graph.generations import Generations
from headwater.graph.levels import Level, Levels
from headwater.graph.nodes import Node, node_id
from headwater.graph.run_edges import Edges

__all__ = ["Edges", "Generations", "Level", "LevelGraph", "Levels", "Node", "node_id"]
