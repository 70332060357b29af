"""The payloads of an event: the bodies to send to a backend that needs events in its own form.

The events of a run, and of the runs below it, arrive in any order. After the end of a run was sent,
it is sent again after every later event of the run. So a finished run stays finished, and its last
payload is complete.
"""

from __future__ import annotations

import orjson

from headwater.events import EventType, RunEvent, shown_time
from headwater.plugins.delivery._effective_runs import NewestRuns
from headwater.plugins.delivery.backend import Delivery
from headwater.plugins.delivery.body import Body, with_renamed_datasets
from headwater.plugins.delivery.context import Contexts, RunContext, affected_ends
from headwater.plugins.delivery.rewrite import Rewriting
from headwater.projection import RunKey, Stamp


def payloads(delivery: Delivery, rewriting: Rewriting) -> list[Body]:
    """Return the bodies to send, in order. Raises DeliveryError if the backend accepts no part."""
    return [body for body, _ in payloads_with_context(delivery, rewriting)]


def payloads_with_context(
    delivery: Delivery, rewriting: Rewriting, newest_runs: NewestRuns | None = None
) -> list[tuple[Body, RunContext]]:
    """Return the bodies to send, each with the context of its run.

    `newest_runs` is a cache for the next calls, which a backend that stores lineage per job must
    pass. The list may be empty for an event that has no effect there.

    Raises:
        DeliveryError: the backend cannot accept any part of the event.
    """
    # None: the backend stores lineage per run, so no other runs of the job count.
    cache = (newest_runs if newest_runs is not None else {}) if rewriting.is_per_job else None
    event, raw, ends = delivery.event, orjson.loads(delivery.body), {}
    with delivery.reading() as state:
        contexts = Contexts(state, rewriting.name, cache)
        if isinstance(event, RunEvent):
            found = [(raw, contexts.of_run(RunKey(event.run_id, event.job)))]
            ends = affected_ends(state, event)
        else:
            renamed = with_renamed_datasets(raw, contexts.renamed)
            found = [(renamed, contexts.of_declaration(event))]
    # An end that was not sent yet comes later by itself, and is complete then.
    if resent := {key: end for key, end in ends.items() if delivery.was_sent(end[0].hash)}:
        with delivery.reading() as state:
            contexts = Contexts(state, rewriting.name, cache)
            found += [(_end(raw, key, *end), contexts.of_run(key)) for key, end in resent.items()]
    return [
        (body, context)
        for event_body, context in found
        for body in rewriting.rewrite(event_body, context)
    ]


def _end(like: Body, key: RunKey, stamp: Stamp, type_: EventType) -> Body:
    """Return the end of a run as an event with the producer of another one.

    `like` is the event that caused it, and `key`, `stamp` and `type_` are those of the ended run.
    """
    return {
        "eventType": str(type_),
        "eventTime": shown_time(stamp.time),
        "producer": like.get("producer"),
        "schemaURL": like.get("schemaURL"),
        "run": {"runId": key.run_id},
        "job": key.job._asdict(),
    }
