"""Events with column lineage and tags, for several tests."""

from __future__ import annotations

from typing import Any

IDENTITY = {"type": "DIRECT", "subtype": "IDENTITY"}
SUM = {"type": "DIRECT", "subtype": "AGGREGATION"}
FILTER = {"type": "INDIRECT", "subtype": "FILTER"}
GROUP_BY = {"type": "INDIRECT", "subtype": "GROUP_BY"}
MASKED = {"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True}
SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
"""A producer that reports every use of columns."""


def derive(build: Any, run: str, hour: str, job: str, **fields: list[tuple[Any, ...]]) -> Any:
    """`t__c=[("s.d", transformation)]` writes column c of t from column d of s."""
    tables: dict[str, dict[str, Any]] = {}
    for target, sources in fields.items():
        table, column = target.split("__")
        listed = []
        for source, *transformations in sources:
            name, field = source.rsplit(".", 1)
            details = {"transformations": transformations} if transformations else {}
            listed.append({"namespace": "db", "name": name, "field": field, **details})
        tables.setdefault(table, {})[column] = {"inputFields": listed}
    read = {f"db|{item[0].rsplit('.', 1)[0]}" for sources in fields.values() for item in sources}
    event = build.run("COMPLETE", run, job, f"{hour}:00:00", reads=tuple(sorted(read)))
    event["outputs"] = [
        build.dataset(f"db|{table}", columnLineage={"_producer": SPARK, "fields": columns})
        for table, columns in tables.items()
    ]
    return event


def filtered(build: Any) -> Any:
    """Write day.fare and day.note from raw, grouped by raw.zone as Spark's listener reports it."""
    event = derive(build, "1", "08", "sum", day__fare=[("raw.fare", SUM)])
    written = event["outputs"][0]["facets"]
    written["columnLineage"]["dataset"] = [
        {"namespace": "db", "name": "raw", "field": "zone", "transformations": [GROUP_BY]}
    ]
    fields = [{"name": "fare", "type": "double"}, {"name": "note", "type": "string"}]
    written["schema"] = {"fields": fields}
    return event


def makes(
    build: Any, hour: str, of: str, name: str, lineage: dict[str, list[tuple[str, Any]]] | None
) -> dict[str, Any]:
    """Return a run that writes `name` from `of`; lineage is {field: [(field of `of`, how)]}."""
    event: dict[str, Any] = build.run("COMPLETE", name, f"make_{name}", f"{hour}:00:00",
                                      reads=(f"db|{of}",))  # fmt: skip
    fields = {
        field: {"inputFields": [
            {"namespace": "db", "name": of, "field": column,
             "transformations": how if isinstance(how, list) else [how]}
            for column, how in sources
        ]}
        for field, sources in (lineage or {}).items()
    }  # fmt: skip
    facets = {} if lineage is None else {"columnLineage": {"fields": fields}}
    event["outputs"] = [build.dataset(f"db|{name}", **facets)]
    return event


def tagged(build: Any, name: str, *tags: tuple[str, ...]) -> dict[str, Any]:
    """Return a dataset event; a tag is (key, value) or (key, value, field)."""
    listed = [dict(zip(("key", "value", "field"), tag, strict=False)) for tag in tags]
    dataset = build.dataset(name, tags={"tags": listed})
    return {"eventTime": "2025-11-21T06:00:00Z", "dataset": dataset}
