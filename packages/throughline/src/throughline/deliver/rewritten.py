"""What is sent of an event to a backend that takes events only in its own way.

Events of a run come in any order, and those of the runs below it as well. Once its end was told,
it is told again after whatever comes later, with all that is known by then: so a run that ended
stays ended, and the last word of it is whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import orjson

from throughline.deliver.backend import Delivery
from throughline.deliver.datasets import Body, named
from throughline.deliver.job_runs import Done
from throughline.deliver.known import Known, declared_of, ends_before, known_of
from throughline.deliver.rewrite import Rewriting
from throughline.deliver.rewrite.rewriting import renamed, renamed_dataset
from throughline.identity import Identity, canonical_name
from throughline.projection import RunKey, State
from throughline.spec import RunEvent


def bodies(delivery: Delivery, rewriting: Rewriting) -> list[Body]:
    """The bodies to send, in order; more is known by the next time, so they may grow.

    Raises:
        DeliveryError: the backend can take no part of the event.
    """
    return [body for body, _ in rewritten(delivery, rewriting)]


def rewritten(
    delivery: Delivery, rewriting: Rewriting, done: Done | None = None
) -> list[tuple[Body, Known]]:
    """The bodies to send, each with what is known of its run; `done` is kept for the next time.

    Raises:
        DeliveryError: the backend can take no part of the event.
    """
    if done is None:
        done = {}
    noted = done if rewriting.of_job else None
    event, raw = delivery.event, orjson.loads(delivery.body)
    if not isinstance(event, RunEvent):
        with delivery.known() as state:
            known = _named(declared_of(state, event, noted), state, rewriting)
            raw = renamed(raw, _name(state, rewriting))
        return [(body, known) for body in rewriting.rewrite(raw, known)]
    with delivery.known() as state:
        key = RunKey(event.run_id, event.job)
        told = [(raw, _named(known_of(state, key, noted), state, rewriting))]
        ends = ends_before(state, event)
    if again := [end for end in ends if delivery.was_told(end.hash)]:
        with delivery.known() as state:
            known_ends = [
                _named(known_of(state, end.key, noted), state, rewriting) for end in again
            ]
        told += [(end.body(raw), known) for end, known in zip(again, known_ends, strict=True)]
    return [(body, known) for each, known in told for body in rewriting.rewrite(each, known)]


def _name(state: State, rewriting: Rewriting) -> Callable[[str, str], tuple[str, str]]:
    return lambda *name: rewriting.name(state.identity, canonical_name(*name))


def _named(known: Known, state: State, rewriting: Rewriting) -> Known:
    """What is known, with the datasets under the names that the backend is sent."""
    if rewriting.name is Identity.primary:
        return known
    name = _name(state, rewriting)
    sides = (known.inputs, known.outputs)
    inputs, outputs = (tuple(renamed_dataset(each, name) for each in side) for side in sides)
    others = tuple(renamed(body, name) for body in known.others)
    models = tuple(
        replace(model, dataset=renamed_dataset(model.dataset, name)) for model in known.models
    )
    job_facets = dict(known.job_facets)
    if "lineage" in job_facets:
        job_facets["lineage"] = named(job_facets["lineage"], name)
    return replace(
        known,
        inputs=inputs,
        outputs=outputs,
        job_facets=job_facets,
        others=others,
        models=models,
    )
