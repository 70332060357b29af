"""The SQL texts that could not be read; their lineage is what the producers reported."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from heapq import nlargest
from typing import NamedTuple

from headwater import deadline
from headwater.events import JobRef
from headwater.events.facets import Sql
from headwater.graph.nodes import Node, node_id
from headwater.graph.sql_lineage import text_of_run
from headwater.health.findings import warning
from headwater.health.models import Finding
from headwater.plugins.trust.models import UnreadSql
from headwater.projection import Run, State
from headwater.sql import text as sql_text
from headwater.sql.text import SqlText

_NEWEST = 1_000  # texts that are read
_LONGEST = 200  # characters of an example


class Text(NamedTuple):
    """A text of a job, with its producer."""

    job: JobRef
    producer: str
    text: SqlText


def newest_texts(state: State, producer_of: Callable[[State, Run], str]) -> list[Text]:
    """Return the different SQL texts of the newest runs, newest first.

    At most 1,000 runs are searched. A text that several runs of a job have counts once.
    """
    runs = (run for run in deadline.watched(state.runs.values()) if run.code.get(Sql.KEY))
    newest = nlargest(_NEWEST, runs, key=lambda run: (run.last or 0, run.key))
    found: dict[tuple[JobRef, SqlText], Text] = {}
    for run in newest:
        if (text := text_of_run(state, run)) is not None:
            own = Text(run.key.job, producer_of(state, run), text)
            found.setdefault((own.job, text), own)
    return list(found.values())


def unread_sql(texts: Iterable[Text]) -> list[UnreadSql]:
    """Return the texts that cannot be read, by job and producer, those with most first.

    Reading takes time, so the state should not be held meanwhile. The example is the newest text.
    """
    unread: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for job, producer, text in deadline.watched(texts):
        if (reason := text.unread_reason()) is not None:
            unread[node_id(Node.of_job(job)), producer].append((reason, text.text))
    items: list[UnreadSql] = [
        {
            "job": job,
            "producer": producer,
            "texts": len(found),
            "reason": found[0][0],
            "sql": " ".join(found[0][1].split())[:_LONGEST],
        }
        for (job, producer), found in unread.items()
    ]
    return sorted(items, key=lambda item: (-item["texts"], item["job"], item["producer"]))


def missing_reader(state: State) -> Iterator[Finding]:
    """Find SQL texts on a server that cannot read SQL."""
    if (reason := sql_text.missing_reader()) is not None:
        jobs = {run.key.job for run in state.runs.values() if run.code.get(Sql.KEY)}
        if jobs:
            yield warning(
                "unread SQL",
                "the extra sql",
                f"{reason[0]}, so the SQL texts of {len(jobs)} jobs are not read",
                f"{reason[1]}, and restart the server",
            )
