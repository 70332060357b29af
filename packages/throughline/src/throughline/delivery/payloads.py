"""The payloads of an event for backends that need events in their own form.

The events of a run, and of the runs below it, arrive in any order. After the end of a run was sent,
it is sent again after every later event of the run. So a finished run stays finished, and its last
payload is complete.
"""

from __future__ import annotations

from dataclasses import replace

import orjson

from throughline.delivery.backend import Delivery
from throughline.delivery.context import RunContext, affected_ends, declared_context, run_context
from throughline.delivery.datasets import Body, Name, rename_datasets
from throughline.delivery.effective_runs import NewestRuns
from throughline.delivery.rewrite import Rewriting
from throughline.delivery.rewrite.rewriting import with_renamed_dataset, with_renamed_datasets
from throughline.events import RunEvent
from throughline.identity import Identity, canonical_name
from throughline.projection import RunKey, State


def payloads(delivery: Delivery, rewriting: Rewriting) -> list[Body]:
    """Return the bodies to send, in order.

    Raises:
        DeliveryError: the backend cannot accept any part of the event.
    """
    return [body for body, _ in payloads_with_context(delivery, rewriting)]


def payloads_with_context(
    delivery: Delivery, rewriting: Rewriting, newest_runs: NewestRuns | None = None
) -> list[tuple[Body, RunContext]]:
    """Return the bodies to send, each with the context of its run.

    `newest_runs` is a cache for the next calls.

    Raises:
        DeliveryError: the backend cannot accept any part of the event.
    """
    cache = (newest_runs if newest_runs is not None else {}) if rewriting.is_per_job else None
    event, raw = delivery.event, orjson.loads(delivery.body)
    with delivery.reading() as state:
        if isinstance(event, RunEvent):
            key = RunKey(event.run_id, event.job)
            contexts = [(raw, _renamed(run_context(state, key, cache), state, rewriting))]
            ends = affected_ends(state, event)
        else:
            context = declared_context(state, event, cache)
            renamed = with_renamed_datasets(raw, _name(state, rewriting))
            contexts, ends = [(renamed, _renamed(context, state, rewriting))], []
    if resent := [end for end in ends if delivery.was_sent(end.hash)]:
        with delivery.reading() as state:
            contexts += [
                (end.body(raw), _renamed(run_context(state, end.key, cache), state, rewriting))
                for end in resent
            ]
    return [
        (body, context)
        for event_body, context in contexts
        for body in rewriting.rewrite(event_body, context)
    ]


def _name(state: State, rewriting: Rewriting) -> Name:
    return lambda *name: rewriting.name(state.identity, canonical_name(*name))


def _renamed(context: RunContext, state: State, rewriting: Rewriting) -> RunContext:
    """Return a context with the datasets under the names for the backend."""
    if rewriting.name is Identity.primary:
        return context
    name = _name(state, rewriting)
    job_facets = dict(context.job_facets)
    if "lineage" in job_facets:
        job_facets["lineage"] = rename_datasets(job_facets["lineage"], name)
    return replace(
        context,
        inputs=tuple(with_renamed_dataset(dataset, name) for dataset in context.inputs),
        outputs=tuple(with_renamed_dataset(dataset, name) for dataset in context.outputs),
        job_facets=job_facets,
        other_writers=tuple(with_renamed_datasets(body, name) for body in context.other_writers),
        models=tuple(
            replace(model, dataset=with_renamed_dataset(model.dataset, name))
            for model in context.models
        ),
    )
