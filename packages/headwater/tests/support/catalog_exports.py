"""Exports of catalogs: DataHub's by its own library, OpenMetadata's by hand.

OpenMetadata's server writes the CSV file in Java. The file here has the columns of
`LineageRepository.exportCsvAsync`.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

_ENTITY = ("EntityFQN", "ServiceName", "ServiceType", "Owners", "Domain")
_PIPELINE = (
    "Name", "DisplayName", "Type", "Description", "Owners", "Domain", "ServiceName", "ServiceType"
)  # fmt: skip
_HEADER = [
    *(f"from{name}" for name in _ENTITY),
    *(f"to{name}" for name in _ENTITY),
    "fromChildEntityFQN",
    "toChildEntityFQN",
    *(f"pipeline{name}" for name in _PIPELINE),
]
_MILLIS = 1_763_712_000_000  # 2025-11-21 08:00 UTC


def datahub_export(path: Path, *, legacy: bool = False) -> Path:
    """Write the export of a shop with DataHub's own file sink."""
    from datahub.emitter import mce_builder as of
    from datahub.emitter.mcp import MetadataChangeProposalWrapper as Proposal
    from datahub.ingestion.api.common import PipelineContext, RecordEnvelope
    from datahub.ingestion.sink.file import FileSink, FileSinkConfig
    from datahub.metadata import schema_classes as dh

    orders, daily = (
        of.make_dataset_urn("postgres", f"shop.public.{name}") for name in ("orders", "daily")
    )
    model = of.make_dataset_urn("dbt", "shop.public.daily")
    job = of.make_data_job_urn("airflow", "nightly", "load")
    run = "urn:li:dataProcessInstance:run-1"
    stamp = dh.AuditStampClass(_MILLIS, "urn:li:corpuser:datahub")
    text = dh.SchemaFieldDataTypeClass(dh.StringTypeClass())

    def column(name: str, *tags: str) -> dh.SchemaFieldClass:
        marked = dh.GlobalTagsClass([dh.TagAssociationClass(of.make_tag_urn(t)) for t in tags])
        path = f"[version=2.0].[type=string].{name}"
        return dh.SchemaFieldClass(path, text, "varchar", globalTags=marked if tags else None)

    def schema(*columns: dh.SchemaFieldClass) -> dh.SchemaMetadataClass:
        platform = of.make_data_platform_urn("postgres")
        return dh.SchemaMetadataClass("s", platform, 0, "", dh.OtherSchemaClass(""), [*columns])

    def field(dataset: str, name: str) -> str:
        return of.make_schema_field_urn(dataset, name)

    fine = dh.FineGrainedLineageClass(
        dh.FineGrainedLineageUpstreamTypeClass.FIELD_SET,
        dh.FineGrainedLineageDownstreamTypeClass.FIELD,
        upstreams=[field(orders, "email")],
        downstreams=[field(model, "who")],
    )
    aspects: list[tuple[str, Any]] = [
        (orders, schema(column("email", "pii"))),
        (orders, dh.OwnershipClass([dh.OwnerClass("urn:li:corpuser:ann", "DATAOWNER")])),
        (orders, dh.DatasetPropertiesClass(description="all orders")),
        (orders, dh.EditableDatasetPropertiesClass(stamp, stamp, description="Every order.")),
        (daily, schema(column("who"))),
        (daily, dh.SiblingsClass([model], primary=False)),
        (daily, dh.UpstreamLineageClass([dh.UpstreamClass(model, "TRANSFORMED", stamp)])),
        (model, dh.SiblingsClass([daily], primary=True)),
        (model, dh.UpstreamLineageClass([dh.UpstreamClass(orders, "TRANSFORMED", stamp)], [fine])),
        (of.make_dataset_urn("postgres", "shop.public.gone"), dh.StatusClass(removed=True)),
        (of.make_data_flow_urn("airflow", "nightly"), dh.DataFlowInfoClass("nightly")),
        (job, dh.DataJobInfoClass("load", "COMMAND", description="Loads the orders.")),
        (
            job,
            dh.DataJobInputOutputClass(
                [],
                [],
                inputDatasetEdges=[dh.EdgeClass(of.make_dataset_urn("s3", "landing/orders.csv"))],
                outputDatasetEdges=[dh.EdgeClass(orders)],
            ),
        ),
        (run, dh.DataProcessInstanceRelationshipsClass([], parentTemplate=job)),
        (run, dh.DataProcessInstanceRunEventClass(_MILLIS, "STARTED")),
        (
            run,
            dh.DataProcessInstanceRunEventClass(
                _MILLIS + 60_000,
                "COMPLETE",
                result=dh.DataProcessInstanceRunResultClass("SUCCESS", "airflow"),
            ),
        ),
        (
            of.make_chart_urn("looker", "7"),
            dh.ChartInfoClass("Revenue", "", dh.ChangeAuditStampsClass(), inputs=[daily]),
        ),
        (
            of.make_dashboard_urn("looker", "board"),
            dh.DashboardInfoClass(
                "Board", "", dh.ChangeAuditStampsClass(), charts=[of.make_chart_urn("looker", "7")]
            ),
        ),
        (of.make_tag_urn("pii"), dh.TagPropertiesClass("pii")),
    ]
    config = FileSinkConfig(filename=str(path), legacy_nested_json_string=legacy)
    sink = FileSink(PipelineContext("test"), config)
    for urn, aspect in aspects:
        seen = dh.SystemMetadataClass(lastObserved=_MILLIS)
        made = Proposal(entityUrn=urn, aspect=aspect, systemMetadata=seen)
        sink.write_record_async(RecordEnvelope(made, {}), None)  # type: ignore[arg-type]
    sink.close()
    return path


def openmetadata_export(path: Path, *rows: dict[str, str]) -> Path:
    """Write rows as OpenMetadata exports them."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, _HEADER, quoting=csv.QUOTE_ALL, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def openmetadata_edge(above: str, below: str, **more: str) -> dict[str, str]:
    """Return the row of an edge between two tables of one service."""
    row = {"fromEntityFQN": above, "toEntityFQN": below, **more}
    for side in ("from", "to"):
        row[f"{side}ServiceName"] = "warehouse"
        row[f"{side}ServiceType"] = "Postgres"
    return row
