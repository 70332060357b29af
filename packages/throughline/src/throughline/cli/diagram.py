"""The graph as text that other programs draw: Mermaid (in Markdown) and Graphviz."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from throughline.printable import escaped

Edges = Iterable[dict[str, Any]]  # of /api/v2/edges, of kind data or direct


def mermaid(edges: Edges) -> str:
    """A flowchart from left to right; jobs are boxes, datasets cylinders."""
    nodes, arrows = _numbered(edges)
    lines = ["flowchart LR"]
    for (kind, _, name), number in nodes.items():
        label = escaped(name).replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;")
        lines.append(f'  n{number}["{label}"]' if kind == "job" else f'  n{number}[("{label}")]')
    return "\n".join([*lines, *(f"  n{start} --> n{end}" for start, end in arrows)]) + "\n"


def graphviz(edges: Edges) -> str:
    """The same in the language of `dot`."""
    nodes, arrows = _numbered(edges)
    lines = ["digraph lineage {", "  rankdir=LR;"]
    for (kind, _, name), number in nodes.items():
        label = escaped(name).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  n{number} [label="{label}", shape={_SHAPES[kind]}];')
    return "\n".join([*lines, *(f"  n{start} -> n{end};" for start, end in arrows), "}"]) + "\n"


_SHAPES = {"job": "box", "dataset": "cylinder"}
_Node = tuple[str, str, str]


def _numbered(edges: Edges) -> tuple[dict[_Node, int], list[tuple[int, int]]]:
    """The nodes (kind, namespace, name) with a number each, and the edges along the data."""
    nodes: dict[_Node, int] = {}

    def number(kind: str, node: dict[str, Any]) -> int:
        return nodes.setdefault((kind, node["namespace"], node["name"]), len(nodes))

    arrows = []
    for edge in edges:
        if "upstream" in edge:
            ends = (number(each["type"], each) for each in (edge["upstream"], edge["downstream"]))
            arrows.append((next(ends), next(ends)))
            continue
        job, dataset = number("job", edge["job"]), number("dataset", edge["dataset"])
        arrows.append((dataset, job) if edge["direction"] == "reads" else (job, dataset))
    return nodes, arrows
