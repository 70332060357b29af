"""The tool `report`: records what an agent read and wrote as a run, with the agent as the job.

OpenLineage has no model of agents yet (OpenLineage#4484 requests one). Here, an agent is a job,
each task that it works on is a run, and each report adds inputs and outputs to the run.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from headwater.errors import ConfigError, NotFoundError
from headwater.plugins.agents._reply import Context, shortened
from headwater.plugins.agents._tool import Node, Text, Tool
from headwater.query.models import Json, Name
from headwater_client.parents import RunRef

NAMESPACE = "agents"
"""Namespace of the jobs that stand for agents."""
_AGENT = re.compile(r"[\w.@-]{1,64}")
_MOST = 100


@dataclass(frozen=True)
class Reporter:
    """Sends what an agent reports.

    `agent` is the name of the agent and of its job. `send` stores an event, a JSON object. `run_id`
    is the run of reports that name no run; without it, each of them gets a new run. `parents` are
    the parent run and the root run, if the agent was started by a run.

    Raises:
      ConfigError: the name of the agent is invalid.
    """

    agent: str
    send: Callable[[Json], object]
    run_id: str | None = None
    parents: tuple[RunRef, RunRef] | None = None

    def __post_init__(self) -> None:
        if not _AGENT.fullmatch(self.agent):
            received = shortened(repr(self.agent))
            expected = "1 to 64 letters, digits or . _ - @"
            raise ConfigError(f"agent: received {received}, expected {expected}")


class NewDataset(BaseModel):
    """A dataset that the lineage server does not know yet."""

    model_config = ConfigDict(extra="forbid")
    namespace: Annotated[str, Text]
    name: Annotated[str, Text]


Datasets = Annotated[
    list[Node | NewDataset],
    Field(
        max_length=_MOST,
        description="Ids or short names of datasets, or namespace and name of new ones.",
    ),
]


class Report(Tool):
    """Report which datasets you read and wrote, so that your work has lineage.

    Call it after you used data. Pass the `runId` of the answer in later reports about the same
    work. Only report what you really read or wrote.
    """

    name = "report"
    is_writing = True
    reads: Datasets = []
    writes: Datasets = []
    run: Annotated[
        uuid.UUID | None, Field(description="The runId of an earlier report about the same work.")
    ] = None

    def answer(self, context: Context) -> Json:
        """Send an event of the run and return its id."""
        reporter = context.reporter
        if not isinstance(reporter, Reporter):
            raise ConfigError(
                "report: reporting is off; it needs the name of the agent and an API key with the"
                " scope write (docs/how-to/mcp.md)"
            )
        if not self.reads and not self.writes:
            raise ConfigError("reads, writes: received nothing, expected at least one dataset")
        reads = [_named(context, item) for item in self.reads]
        writes = [_named(context, item) for item in self.writes]
        run_id = str(self.run or reporter.run_id or uuid.uuid4())
        ref = RunRef(NAMESPACE, reporter.agent, run_id)
        reporter.send(_event(ref, reporter.parents, reads, writes))
        node = f"job:{NAMESPACE}:{reporter.agent}"
        page = context.page("lineage", node=node)
        return {"status": "found", "runId": run_id, "node": node} | ({"page": page} if page else {})


def _named(context: Context, item: str | NewDataset) -> Name:
    """Return the namespace and name of a dataset. Raises NotFoundError if there is none, or a job.

    A text is looked up by the query `node`, so that a short name becomes a full one.
    """
    if isinstance(item, NewDataset):
        return {"namespace": item.namespace, "name": item.name}
    found = context.query("node", {"node": item})
    if found["type"] != "dataset":
        raise NotFoundError(f"{shortened(item)!r} is a job; expected a dataset")
    return {"namespace": found["namespace"], "name": found["name"]}


def _event(
    ref: RunRef, parents: tuple[RunRef, RunRef] | None, reads: list[Name], writes: list[Name]
) -> Json:
    """Return a COMPLETE event: a later one with the same run adds to it.

    `parents` are the parent run and the root run.
    """
    from openlineage.client.event_v2 import InputDataset, OutputDataset

    from headwater_client.events import ReportedRun  # slow to import

    run = ReportedRun(
        ref=ref,
        integration="AGENT",
        job_type="TASK",
        parents=parents,
        inputs=[InputDataset(**name) for name in reads],
        outputs=[OutputDataset(**name) for name in writes],
    )
    event: Json = json.loads(run.to_json("COMPLETE", datetime.now(UTC)))
    return event
