"""Explicit lineage in events for backends that do not support it."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.plugins.delivery.rewrite import REWRITINGS
from packages.headwater.tests.support.explicit import dataset, how, into, run_event
from packages.headwater.tests.support.recording_backend import sent

Json = dict[str, Any]


def event(**more: Any) -> Json:
    amount = dataset("public.a", field="amount", transformations=how("DIRECT", "AGGREGATION"))
    return run_event(
        "bulk_etl",
        into(dataset("public.c"), dataset("public.a"), fields={"total": {"inputs": [amount]}}),
        into(dataset("public.d"), dataset("public.b")),
        reads="public.a public.b",
        writes="public.c public.d",
        run="00000000-0000-4000-8000-000000000001",
        **more,
    )


def names(body: Json, side: str) -> list[str]:
    return [item["name"] for item in body[side]]


def test_openmetadata_gets_one_event_per_output() -> None:
    bodies = sent(REWRITINGS["openmetadata"], [event()])
    assert [(names(body, "inputs"), names(body, "outputs")) for body in bodies] == [
        (["public.a"], ["public.c"]),
        (["public.b"], ["public.d"]),
    ]


def test_explicit_columns_are_sent_as_column_lineage() -> None:
    for kind in ("marquez", "openmetadata"):
        bodies = sent(REWRITINGS[kind], [event()])
        (made,) = [o for body in bodies for o in body["outputs"] if o["name"] == "public.c"]
        (source,) = made["facets"]["columnLineage"]["fields"]["total"]["inputFields"]
        assert (source["name"], source["field"]) == ("public.a", "amount")


def test_earlier_run_is_sent_with_its_own_lineage() -> None:
    other = run_event(
        "bulk_etl",
        into(dataset("public.c"), dataset("public.b")),
        reads="public.b",
        writes="public.c",
        run="00000000-0000-4000-8000-000000000002",
        time="2026-03-26T12:00:00Z",
    )
    for body in sent(REWRITINGS["marquez"], [event(), other], at_once=True):
        own = event() if body["run"]["runId"][-1] == "1" else other
        stated = body["job"]["facets"]["lineage"]["entries"]
        assert stated == own["job"]["facets"]["lineage"]["entries"]


@pytest.mark.parametrize("kind", ["openmetadata", "datahub"])
def test_entries_use_the_names_of_the_datasets(kind: str, build: Any) -> None:
    amount = {"inputs": [dataset("public.a", field="amount")]}
    place = {**dataset("x"), "namespace": "s3a://lake"}
    linked = run_event(
        "copy", into(place, dataset("public.a"), fields={"b": amount}),
        reads="public.a", run="00000000-0000-4000-8000-000000000003",
    )  # fmt: skip
    linked["outputs"] = [build.dataset("s3a://lake|x", symlinks=[("http://c", "db.x", "TABLE")])]
    (body,) = sent(REWRITINGS[kind], [linked])
    (entry,), (output,) = body["job"]["facets"]["lineage"]["entries"], body["outputs"]
    assert entry["name"] == output["name"] == "db.x"
    assert entry["namespace"] == output["namespace"] == {"datahub": "hive"}.get(kind, "http://c")
    assert output["facets"]["columnLineage"]["fields"].keys() == {"b"}
