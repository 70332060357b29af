"""Export the graph as a Mermaid or a Graphviz diagram."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headwater.text import escaped

if TYPE_CHECKING:
    from headwater.lineage.models import DataEdgeRow, NodePairRow
    from headwater.query.models import Name

_SHAPES = {"job": "box", "dataset": "cylinder"}
_Node = tuple[str, str, str]
"""Type, namespace and name."""


def mermaid(edges: Iterable[DataEdgeRow], pairs: Iterable[NodePairRow]) -> str:
    """Return a Mermaid flowchart; jobs are boxes, datasets cylinders.

    `edges` are data edges and `pairs` direct links of the query `edges`.
    """
    nodes, arrows = _numbered(edges, pairs)
    lines = ["flowchart LR"]
    for (kind, _, name), number in nodes.items():
        label = escaped(name).replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;")
        lines.append(f'  n{number}["{label}"]' if kind == "job" else f'  n{number}[("{label}")]')
    return "\n".join([*lines, *(f"  n{start} --> n{end}" for start, end in arrows)]) + "\n"


def graphviz(edges: Iterable[DataEdgeRow], pairs: Iterable[NodePairRow]) -> str:
    """Return a Graphviz graph; jobs are boxes, datasets cylinders.

    The parameters are those of `mermaid`.
    """
    nodes, arrows = _numbered(edges, pairs)
    lines = ["digraph lineage {", "  rankdir=LR;"]
    for (kind, _, name), number in nodes.items():
        label = escaped(name).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  n{number} [label="{label}", shape={_SHAPES[kind]}];')
    return "\n".join([*lines, *(f"  n{start} -> n{end};" for start, end in arrows), "}"]) + "\n"


def _numbered(
    edges: Iterable[DataEdgeRow], pairs: Iterable[NodePairRow]
) -> tuple[dict[_Node, int], list[tuple[int, int]]]:
    """Number the nodes; return them, and the edges in the direction of the data.

    Numbers are in the order in which the nodes appear. An edge is a pair of numbers.
    """
    nodes: dict[_Node, int] = {}

    def number(kind: str, node: Name) -> int:
        return nodes.setdefault((kind, node["namespace"], node["name"]), len(nodes))

    arrows: list[tuple[int, int]] = []
    for edge in edges:
        job, dataset = number("job", edge["job"]), number("dataset", edge["dataset"])
        arrows.append((dataset, job) if edge["direction"] == "reads" else (job, dataset))
    for pair in pairs:
        start, end = pair["upstream"], pair["downstream"]
        arrows.append((number(start["type"], start), number(end["type"], end)))
    return nodes, arrows
