"""No event causes a 5xx response."""

from __future__ import annotations

from random import Random
from typing import Any

import orjson
import pytest

from headwater.projection.live import Live
from headwater.server.app import make_app
from packages.headwater.tests.support.asgi import asgi_client

_JUNK: tuple[Any, ...] = (
    *(None, [], {}, 3, -1.5, True, "", "x", "\x00", "ü" * 300, [[]], [None], {"a": None}),
    *({"namespace": 1, "name": 2}, [{"namespace": "", "name": ""}], 2**63, "9999-99-99"),
)
_PATHS = (
    *("/api/v2/edges?level=query", "/api/v2/edges?level=task", "/api/v2/edges?level=pipeline"),
    *("/api/v2/edges?kind=control", "/api/v1/jobs", "/api/v1/namespaces", "/api/v2/export", "/"),
    *("/api/v2/runs", "/api/v1/search?q=a", "/api/v1/events/lineage?limit=5"),
    *("/api/v1/sources", "/api/v1/tags", "/api/v1/runlineage/upstream?runId=r1"),
    *("/api/v1/lineage?nodeId=job:demo:dag.t", "/api/v1/column-lineage?nodeId=dataset:hive:db.t"),
    *("/api/v1/namespaces/demo/jobs/dag.t/versions", "/api/v1/stats/lineage-events?period=DAY"),
    *("/api/v1/namespaces/hive/datasets/db.t/versions", "/api/v1/jobs/runs/r1"),
    *("/api/v1/namespaces/hive/datasets", "/api/v2/tree?node=job:demo:dag.t&direction=both"),
)


def _full(build: Any, number: int) -> dict[str, Any]:
    """Return an event with every facet that the projection reads."""
    depends = {"upstream": [{"job": {"namespace": "demo", "name": "u"}, "run": {"runId": "u"}}]}
    event = build.run(
        "COMPLETE", f"r{number}", "dag.t", "08:00:00",
        parent=("d", "dag"), root=("e", "root"), kind="AIRFLOW/TASK",
        facets={"jobDependencies": depends, "nominalTime": {"nominalStartTime": "x"}},
    )  # fmt: skip
    event["job"]["facets"] |= {
        "sourceCodeLocation": {"url": "https://example.org"},
        "documentation": {"description": "d"},
    }
    table = build.dataset(
        "hive|db.t",
        symlinks=[("file", "/wh/t", "LOCATION")],
        version={"datasetVersion": "1"},
        schema={"fields": [{"name": "a", "type": "int"}]},
        dataSource={"name": "n", "uri": "u"},
        lifecycleStateChange={"lifecycleStateChange": "DROP"},
    )
    table["outputFacets"] = {"outputStatistics": {"rowCount": 1}}
    return {**event, "inputs": [build.dataset("db|a")], "outputs": [table]}


def _spoil(random: Random, value: Any) -> Any:
    """Return the value with one part, at any depth, replaced by junk."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(sorted(value))
        return {**value, key: _spoil(random, value[key])}
    if isinstance(value, list) and value and random.random() < 0.9:
        return [_spoil(random, value[0]), *value[1:]]
    return random.choice(_JUNK)


@pytest.mark.replay
@pytest.mark.each_database
def test_junk_anywhere_in_an_event_never_gives_a_5xx(
    live: Live, build: Any, caplog: pytest.LogCaptureFixture
) -> None:
    random = Random(2026)
    taken = 0
    with asgi_client(make_app(live)) as client:
        for number in range(600):
            body = _spoil(random, _full(build, number))
            raw = orjson.dumps(body, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
            answer = client.post("/api/v1/lineage", content=raw)
            assert answer.status_code in (201, 400, 422), body
            taken += answer.status_code == 201
            if number % 100 == 99:
                for path in _PATHS:
                    assert client.get(path).status_code in (200, 404), (path, body)
    assert taken > 300
    assert [r for r in caplog.records if r.name.startswith("headwater")] == []
