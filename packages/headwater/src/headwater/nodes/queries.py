"""Query one node."""

from __future__ import annotations

from headwater.graph.current import generations_of
from headwater.lookup import find_node
from headwater.nodes.models import NodeAnswer
from headwater.nodes.summary import node_in_full
from headwater.projection import State
from headwater.query.parameters import Name
from headwater.query.registry import Times, query


@query("node", Times.THEN)
def node_answer(state: State, node: Name) -> NodeAnswer:
    """Return a node with everything that was last reported about it."""
    return node_in_full(generations_of(state), find_node(state, node))
