"""Queries to the sample by route."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from headwater.collect.spool import StuckFile
from headwater.events import JobRef
from headwater.plugins.marquez._versions import Versions
from headwater.projection.live import Live

from .sample import run_id

_TABLE = "dataset:hive://lake:9083:shop.orders"
_LOAD = "job:shop:shop_daily.load.append"
_RAW = "dataset:s3://landing:orders.csv"
_REPORT = "dataset:postgres://db:5432:shop.public.revenue"
_OF_TABLE = {"namespace": "hive://lake:9083", "dataset": "shop.orders"}
_OF_JOB = {"namespace": "shop", "job": "shop_daily.load.append"}
_TAILING, _STOPPED, _BARE = (
    SimpleNamespace(lag=lambda: (0, 0), stuck=()),
    SimpleNamespace(stuck=(StuckFile("etl-1.jsonl", "it is a symbolic link"),)),
    None,
)

Asked = dict[str, list[dict[str, Any]]]


def asked(live: Live) -> Asked:
    """Return parameters by their Python names, with defaults for those that are not passed."""
    with live.reading() as state:
        job = state.jobs[JobRef("shop", "shop_daily.load.append")]
        version = Versions(state).of_job(job)[0].id
    names = sorted({ref.name for ref in state.jobs})
    datasets = sorted(state.identity)
    run_ids = [run_id(number) for number in range(1, 11)]
    result = _marquez(version)
    result |= _own()
    result["/api/v1/namespaces/{namespace}/jobs/{job}"] += [
        {"namespace": "shop", "job": name} for name in names
    ]
    result["/api/v1/namespaces/{namespace}/jobs/{job}/versions"] += [
        {"namespace": "shop", "job": name} for name in names
    ]
    result["/api/v1/namespaces/{namespace}/datasets/{dataset}/versions"] += [
        {"namespace": name.namespace, "dataset": name.name} for name in datasets
    ]
    for path in (
        "/api/v1/jobs/runs/{run_id}",
        "/api/v1/runlineage/upstream",
        "/api/v2/runs/{run_id}",
    ):
        result[path] += [{"run_id": item} for item in run_ids]
    return result


def _marquez(version: str) -> Asked:
    stats = {
        f"/api/v1/stats/{kind}": [{"period": "DAY"}] for kind in ("jobs", "datasets", "sources")
    }
    return {
        **stats,
        "/api/v1/stats/lineage-events": [{"period": "DAY"}],
        "/api/v1/lineage": [
            *({"node": node} for node in (_TABLE, _REPORT, "job:shop:shop_daily")),
            {"node": "job:shop:shop_lone_application"},
            {"node": "dataset:s3://landing:notes.csv"},
        ],
        "/api/v1/column-lineage": [
            {"node": _TABLE},
            {"node": "dataset:s3://landing:notes.csv"},
            {"node": _RAW, "with_downstream": True},
        ],
        "/api/v1/runlineage/upstream": [{"run_id": run_id(6)}],
        "/api/v1/namespaces": [{}],
        "/api/v1/namespaces/{namespace}": [{"namespace": "shop"}],
        "/api/v1/jobs": [{"limit": 1}, {}],
        "/api/v1/namespaces/{namespace}/jobs": [
            {"namespace": "shop", "limit": 1},
            {"namespace": "shop"},
        ],
        "/api/v1/namespaces/{namespace}/jobs/{job}": [_OF_JOB],
        "/api/v1/namespaces/{namespace}/jobs/{job}/runs": [_OF_JOB],
        "/api/v1/namespaces/{namespace}/jobs/{job}/versions": [_OF_JOB],
        "/api/v1/namespaces/{namespace}/jobs/{job}/versions/{version}": [
            {**_OF_JOB, "version": version}
        ],
        "/api/v1/jobs/runs/{run_id}": [{"run_id": run_id(3)}],
        "/api/v1/jobs/runs/{run_id}/facets": [{"run_id": run_id(3), "kind": "run"}],
        "/api/v1/namespaces/{namespace}/datasets": [
            {"namespace": "hive://lake:9083"},
            {"namespace": "postgres://db:5432"},
            {"namespace": "s3://landing"},
        ],
        "/api/v1/namespaces/{namespace}/datasets/{dataset}": [_OF_TABLE],
        "/api/v1/namespaces/{namespace}/datasets/{dataset}/versions": [_OF_TABLE],
        "/api/v1/namespaces/{namespace}/datasets/{dataset}/versions/{version}": [
            {**_OF_TABLE, "version": "1"}
        ],
        "/api/v1/sources": [{}],
        "/api/v1/sources/{source}": [{"source": "lake"}],
        "/api/v1/tags": [{}],
        "/api/v1/search": [{"q": "load"}, {"q": "shop", "limit": 100}],
        "/api/v1/events/lineage": [{"limit": 1}],
    }


def _own() -> Asked:
    noon = "2025-11-21T16:00:00Z"
    early, late = "2025-11-21T02:30:00Z", "2025-11-21T08:00:00Z"
    begin = "2025-11-21T01:30:00Z"
    nodes = [
        {"node": item}
        for item in (
            *(_REPORT, _TABLE, _LOAD, "job:shop:shop_daily", "job:shop:shop_daily.report"),
            *("job:shop:shop_lone_application", "dataset:postgres://db:5432:shop.public.unused"),
            "dataset:s3://landing:notes.csv",
        )
    ]
    return {
        "/api/v2/events": [{"run": run_id(3), "limit": 1}, {"run": run_id(3)}],
        "/api/v2/events/warnings": [{"limit": 1}, {}],
        "/api/v2/deliver": [{}],
        "/api/v2/keys": [{}],
        "/api/v2/alerts": [{}],
        "/api/v2/aliases": [{}],
        "/api/v2/aliases/suggested": [{}],
        "/api/v2/runtree": [{"run": run_id(1)}],
        "/api/v2/rejected": [{}],
        "/api/v2/stuck": [{"tail": _STOPPED}],
        "/healthz": [{"tail": _TAILING}, {"tail": _BARE}],
        "/api/v2/graph": [
            {"node": _TABLE, "columns": True},
            *({**node, "columns": True, "up": 9, "down": 9} for node in nodes),
        ],
        "/api/v2/node": [*nodes, {"node": "job:shop:forecast.train"}],
        "/api/v2/tree": [
            {"node": _REPORT, "control": True},
            *({**node, "direction": "both"} for node in nodes),
        ],
        "/api/v2/diff": [
            {"from_": late},
            {"from_": late, "to": early},
            {"from_": early, "to": late},
            {"from_": "2025-11-20T00:00:00Z", "to": early},
        ],
        "/api/v2/columns": [
            {"node": _TABLE},
            {"node": _REPORT, "as_of": late},
            {"node": _RAW, "direction": "down"},
        ],
        "/api/v2/column": [
            {"node": _TABLE, "field": "amount"},
            {"node": _TABLE, "field": "mail"},
            {"node": _REPORT, "field": "revenue", "as_of": late},
            {"node": "dataset:s3://landing:notes.csv", "field": "id"},
        ],
        "/api/v2/impact": [
            {"node": _TABLE},
            {"node": _RAW, "field": "amount"},
            {"node": _RAW, "field": "mail"},
            {"node": _TABLE, "field": "id"},
        ],
        "/api/v2/search": [
            {"text": "orders"},
            {"text": "shop", "limit": 1},
            {"text": "pii"},
            {"text": "team:shop"},
            {"text": "ordres"},
            {"text": "orders", "facets": True, "type_": "table"},
        ],
        "/api/v2/newest": [{}],
        "/api/v2/path": [{"from_": _RAW, "to": _TABLE, "control": True}],
        "/api/v2/why": [
            {"from_": _RAW, "to": _TABLE},
            {"from_": _TABLE, "to": "job:shop:shop_daily.load"},
        ],
        "/api/v2/provenance": [
            {"node": _REPORT},
            {"node": "forecast"},
            {"node": _TABLE, "version": "1"},
            {"node": "dataset:s3://exports:revenue.csv"},
        ],
        "/api/v2/provenance/statement": [{"node": _REPORT}, {"node": _TABLE, "version": "1"}],
        "/api/v2/version": [{"version": f"{_TABLE}@1"}, {"version": run_id(6)}],
        "/api/v2/incident": [{"subject": f"{_TABLE}@1"}, {"subject": run_id(3)}],
        "/api/v2/taints": [{}, {"node": _TABLE}],
        "/api/v2/history": [*nodes, {**nodes[0], "limit": 1}],
        "/api/v2/drift": [{}],
        "/api/v2/map": [{}, {"by": "owner"}, {"path": ["hive"]}],
        "/api/v2/tagged": [{"tag": "pii"}, {"tag": "tier:gold", "status": "derived"}],
        "/api/v2/tags": [{}],
        "/api/v2/unused": [{}, {"days": 1}],
        "/api/v2/nodes": [{}],
        "/api/v2/edges": [{}, {"kind": "control"}, {"kind": "direct"}],
        "/api/v2/timeline": [
            {"node": _TABLE, "up": 3, "down": 3},
            *({**node, "level": level} for node in nodes for level in ("task", "pipeline")),
        ],
        "/api/v2/runs": [
            {"limit": 2},
            {"text": "shop"},
            {"facets": True, "limit": 2, "sort": "duration"},
        ],
        "/api/v2/datasets": [{}, {"sort": "written", "limit": 1}],
        "/api/v2/jobs": [{}, {"sort": "started", "limit": 1}],
        "/api/v2/groups": [{}, {"by": "tag"}],
        "/api/v2/runs/{run_id}": [{"run_id": run_id(1)}],
        "/api/v2/export": [{}],
        "/api/v2/health": [{"as_of": noon}, {"as_of": begin}, {}],
        "/api/v2/findings": [{"as_of": noon}, {"as_of": begin}, {}],
        "/api/v2/problems": [{"as_of": noon}, {"limit": 1}, {}],
        "/api/v2/pipelines": [{"as_of": noon}, {"limit": 1}],
        "/api/v2/freshness": [{"as_of": noon}, {}],
        "/api/v2/freshness/datasets": [{"due": "unscheduled"}, {"due": "sources"}, {"as_of": noon}],
        "/api/v2/lateness": [
            {"node": "dataset:postgres://db:5432:shop.public.hourly"},
            {"node": "job:shop:shop_check", "as_of": noon},
        ],
        "/api/v2/completeness": [{}, {"as_of": begin}],
        "/api/v2/completeness/pipelines": [{}],
        "/api/v2/gate": [
            {"dataset": [_TABLE]},
            {"dataset": [_TABLE], "policy": '{"sources": ["dataset:none"]}'},
        ],
        "/api/v2/check": [
            {},
            {"contract": '{"jobs": {"none": {}}, "datasets": {"orders": {"columns": {"x": {}}}}}'},
        ],
        "/api/v2/doctor": [{"tail": _TAILING}, {"tail": _BARE}],
    }
