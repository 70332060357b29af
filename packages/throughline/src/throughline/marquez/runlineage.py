"""GET /api/v1/runlineage/upstream: the runs whose work a run used, by the versions it read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from throughline import deadline
from throughline.graph.nodes import name_of
from throughline.http.routes import Depth, LiveState, Tagged, answer
from throughline.marquez import models as marquez
from throughline.marquez.runs import find_run
from throughline.marquez.shapes import Shapes
from throughline.projection import Run, RunKey, State

router = APIRouter(route_class=Tagged)


@router.get("/api/v1/runlineage/upstream", response_model=marquez.UpstreamRuns)
def get_upstream(
    live: LiveState,
    run_id: Annotated[str, Query(alias="runId", description="The id of a run.")],
    depth: Depth = 20,
) -> Response:
    """A run and those that wrote what it read, step by step, the nearest first."""
    with live.reading() as state:
        start = find_run(state, run_id)
        shapes = Shapes(state)
        seen, level, shown = {start.key}, [start], []
        for left in range(depth, -1, -1):
            above: dict[RunKey, Run] = {}
            for run in level:
                line, makers = _shown(state, shapes, run)
                shown.append(line)
                above |= {each.key: each for each in makers if each.key not in seen}
            seen |= above.keys()
            level = list(above.values()) if left else []
        return answer({"runs": shown})


def _shown(state: State, shapes: Shapes, run: Run) -> tuple[marquez.UpstreamRun, list[Run]]:
    """A run with what it read, and the runs that wrote that."""
    deadline.check()
    whole = shapes.run(run)
    inputs: list[marquez.UpstreamInput] = []
    makers: list[Run] = []
    for name, use in sorted(run.inputs.items()):
        version, maker = shapes.versions.read(run, name, use)
        producer = maker.key.run_id if maker else None
        primary = name_of(state.identity.primary(name))
        inputs.append({**primary, "version": version, "producedByRunId": producer})
        makers += [maker] if maker else []
    version_of_job = whole["jobVersion"]["version"] if whole["jobVersion"] else None
    line: marquez.UpstreamRun = {
        "job": {**name_of(run.key.job), "version": version_of_job},
        "run": {
            "id": run.key.run_id,
            "start": whole["startedAt"],
            "end": whole["endedAt"],
            "status": whole["state"],
        },
        "inputs": inputs,
    }
    return line, makers
