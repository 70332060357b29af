"""The jobs that write one column: their inputs, transformations, queries and code.

The inputs combine what all runs of a job reported; query, code and run are those of the newest.
Only runs that wrote the present contents count. A generation is the runs of a task under one parent
run.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Annotated

from headwater.events import EVERY_ROW, Evidence, JobRef, Transformation
from headwater.events.facets import SourceCode, Sql
from headwater.graph.column_graph import Column, ColumnEdge, edges_of_run
from headwater.graph.current import generations_of
from headwater.graph.generation import Generation
from headwater.graph.generations import Generations
from headwater.graph.levels import Level
from headwater.graph.nodes import dataset_ref, fields_of, name_of, node_id
from headwater.lineage.columns import check_column, combined
from headwater.lineage.tags import tags_of_tree
from headwater.lookup import find_dataset
from headwater.nodes.descriptions import inherited_descriptions
from headwater.plugins.evidence.models import (
    CodeInfo,
    ColumnAnswer,
    ColumnProducer,
    TransformationInfo,
)
from headwater.projection import Run, State, start_of
from headwater.query.parameters import Name
from headwater.query.registry import Times, query
from headwater.runs.summary import code_of, run_line


@dataclass(slots=True)
class _Producer:
    """A job that wrote the dataset: its runs, and the inputs reported for the column."""

    runs: list[Run] = field(default_factory=list)
    inputs: dict[Column, list[Transformation]] = field(default_factory=lambda: defaultdict(list))
    evidence: dict[Column, set[Evidence]] = field(default_factory=lambda: defaultdict(set))


@query("column", Times.THEN)
def column_answer(
    state: State, node: Name, field: Annotated[str, "A column of the dataset."]
) -> ColumnAnswer:
    """Return a column with its inputs and the queries or code of the jobs that write it.

    A job that writes the dataset without column lineage for the column has no `inputs`.
    """
    root, generations = find_dataset(state, node), generations_of(state)
    reported = fields_of(state, root).get(field)
    if reported is None:
        check_column(generations, root, field)  # the column may only occur in lineage
    name = root.dataset_name
    producers: dict[JobRef, _Producer] = defaultdict(_Producer)
    for generation in generations.writing(name):
        for run, edges in _writing_runs(generations, generation, Column(name, field)):
            producer = producers[run.key.job]
            producer.runs.append(run)
            for edge in edges:
                kinds = producer.inputs[edge.source]
                kinds += [kind for kind in edge.transformations if kind not in kinds]
                producer.evidence[edge.source].add(edge.evidence)
    is_described = reported is not None and reported.description
    inherited = {} if is_described else inherited_descriptions(generations, name, [field])
    answers = [_producer_answer(generations, ref, producer) for ref, producer in producers.items()]
    return {
        "node": node_id(root),
        "field": field,
        "type": reported.type if reported else None,
        "description": reported.description if reported else None,
        "inheritedDescription": inherited.get(field),
        "tags": tags_of_tree(generations, root, "up", Level.TASK).as_info(name, field),
        "producers": sorted(
            answers, key=lambda producer: producer["run"]["startedAt"] or "", reverse=True
        ),
    }


def _writing_runs(
    generations: Generations, generation: Generation, column: Column
) -> list[tuple[Run, list[ColumnEdge]]]:
    """Return the runs that reported inputs of the column; if none did, all that wrote the dataset.

    A task and its query both report the write; the one with column lineage has more detail.

    Each has its edges into the column, or into every row.
    """
    writing: list[tuple[Run, list[ColumnEdge]]] = []
    targets = (column, Column(column.dataset, EVERY_ROW))
    for run in generation.runs:
        if column.dataset in generations.own(run).writes:
            edges = edges_of_run(generations.state, run, generation.job)
            writing.append((run, [edge for edge in edges if edge.target in targets]))
    return [item for item in writing if item[1]] or writing


def _producer_answer(generations: Generations, ref: JobRef, producer: _Producer) -> ColumnProducer:
    """Return a job that writes the column as part of the answer."""
    run = max(producer.runs, key=lambda run: (start_of(run) or 0, run.key))
    return {
        "job": name_of(ref),
        "task": name_of(generations.levels.owner(run, Level.TASK).key.job),
        "run": run_line(generations.state, run),
        "runs": len(producer.runs),
        "inputs": [
            {
                **dataset_ref(source.dataset),
                "field": source.field,
                "evidence": combined(producer.evidence[source]),
                "transformations": [_transformation(kind) for kind in kinds],
            }
            for source, kinds in sorted(producer.inputs.items())
        ],
        **_code(generations, run),
    }


def _transformation(kind: Transformation) -> TransformationInfo:
    """Return a transformation as part of the answer."""
    return {
        "type": kind.type,
        "subtype": kind.subtype,
        "description": kind.description,
        "isMasking": kind.is_masking,
    }


def _code(generations: Generations, run: Run) -> CodeInfo:
    """Return the query and the code of a run, or else of its nearest ancestor that has some."""
    answer: CodeInfo = {"sql": None, "source": None, "language": None, "code": {}}
    for ancestor in generations.levels.lineage(run):
        facets = generations.state.jobs[ancestor.key.job].facets
        answer["sql"] = answer["sql"] or facets.parsed(Sql).query
        source = facets.parsed(SourceCode)
        if answer["source"] is None and source.sourceCode:
            answer["source"], answer["language"] = source.sourceCode, source.language
        answer["code"] = answer["code"] or code_of(ancestor)
    return answer
