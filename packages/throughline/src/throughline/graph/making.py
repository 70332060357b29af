"""How one column is made: of which columns, how, and by whose query or code."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from throughline.graph.column_graph import Column, ColumnEdge, edges_of_run
from throughline.graph.columns import check_column
from throughline.graph.generations import Generation, Generations
from throughline.graph.levels import Level
from throughline.graph.nodes import Node, facets_of, node_id
from throughline.graph.provenance import code_of
from throughline.graph.schemas import fields_of
from throughline.graph.tags import around
from throughline.graph.walk import run_line
from throughline.identity import DatasetName
from throughline.projection import Run, State, start_of
from throughline.spec import EVERY_ROW, JobRef, Transformation


@dataclass(slots=True)
class _Maker:
    """The runs of a job that wrote the dataset, with the inputs reported for the column."""

    runs: list[Run] = field(default_factory=list)
    inputs: dict[Column, list[Transformation]] = field(default_factory=lambda: defaultdict(list))


def making(known: Generations, root: Node, column: str) -> dict[str, Any]:
    """What a column is, and each job that makes it in the present contents, the newest first.

    `inputs` are what all of its `runs` together told; query, code and run are those of the newest.

    Raises:
        NotFoundError: the dataset has no such column.
    """
    about = _field(known.state, root, column)
    if about is None:
        check_column(known, root, column)  # the column may be in lineage only
    name = DatasetName(root.namespace, root.name)
    makers: dict[JobRef, _Maker] = defaultdict(_Maker)
    for generation in known.writing(name):
        for run, edges in _makers(known, generation, Column(name, column)):
            maker = makers[run.key.job]
            maker.runs.append(run)
            for edge in edges:
                kinds = maker.inputs[edge.source]
                kinds += [kind for kind in edge.transformations if kind not in kinds]
    made = [_shown(known, ref, maker) for ref, maker in makers.items()]
    return {
        "node": node_id(root),
        "field": column,
        **(about or {"type": None, "description": None}),
        "tags": around(known, root, "up", Level.TASK).told(name, column),
        "made": sorted(made, key=lambda each: each["run"]["startedAt"] or "", reverse=True),
    }


def _makers(
    known: Generations, generation: Generation, column: Column
) -> list[tuple[Run, list[ColumnEdge]]]:
    """Return the runs that reported inputs of the column; if none did, all that wrote the dataset.

    A task and its query both report the write; the one with column lineage has more detail.
    """
    writing: list[tuple[Run, list[ColumnEdge]]] = []
    targets = (column, Column(column.dataset, EVERY_ROW))
    for run in generation.runs:
        if column.dataset in known.own(run).writes:
            edges = edges_of_run(known.state, run, generation.job)
            writing.append((run, [edge for edge in edges if edge.target in targets]))
    return [item for item in writing if item[1]] or writing


def _field(state: State, root: Node, column: str) -> dict[str, Any] | None:
    for book in facets_of(state, root):
        schema = book.get("schema")
        types = {".".join(path): type_ for path, type_ in fields_of(schema).items()}
        if column in types:
            said = (each for each in schema["fields"] if isinstance(each, dict))
            about = next((each for each in said if each.get("name") == column), {})
            return {"type": types[column], "description": about.get("description")}
    return None


def _shown(known: Generations, ref: JobRef, maker: _Maker) -> dict[str, Any]:
    run = max(maker.runs, key=lambda each: (start_of(each) or 0, each.key))
    return {
        "job": ref._asdict(),
        "task": known.levels.owner(run, Level.TASK).key.job._asdict(),
        "run": run_line(known.state, run),
        "runs": len(maker.runs),
        "inputs": [
            {
                "id": node_id(Node.of_dataset(of.dataset)),
                **of.dataset._asdict(),
                "field": of.field,
                "transformations": [_transformation(kind) for kind in kinds],
            }
            for of, kinds in sorted(maker.inputs.items())
        ],
        **_code(known, run),
    }


def _transformation(kind: Transformation) -> dict[str, Any]:
    return {
        "type": kind.type,
        "subtype": kind.subtype,
        "description": kind.description,
        "isMasking": kind.is_masking,
    }


def _code(known: Generations, run: Run) -> dict[str, Any]:
    """The query of a run, or the code of the nearest one above it that has some; and its place."""
    answer: dict[str, Any] = {"sql": None, "source": None, "language": None, "code": {}}
    for each in known.levels.lineage(run):
        facets = known.state.jobs[each.key.job].facets
        answer["sql"] = answer["sql"] or _text(facets.get("sql").get("query"))
        source = facets.get("sourceCode")
        if answer["source"] is None and (text := _text(source.get("sourceCode"))):
            answer |= {"source": text, "language": _text(source.get("language"))}
        answer["code"] = answer["code"] or code_of(each)
    return answer


def _text(value: Any) -> str | None:
    return str(value) if value else None
