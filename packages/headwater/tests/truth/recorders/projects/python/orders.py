"""Report two jobs and a data contract with the OpenLineage client, as a team's own code does."""

import os
from datetime import UTC, datetime

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import (
    DatasetEvent,
    InputDataset,
    Job,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
    StaticDataset,
)
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    documentation_dataset,
    error_message_run,
    schema_dataset,
)
from openlineage.client.uuid import generate_new_uuid

PRODUCER = "https://example.org/orders"
CASE = os.environ["NAMESPACE"]
LAKE, SHOP = f"s3://{CASE}", f"postgres://{CASE}.example.org:5432"


def schema(*names):
    """Return a schema facet."""
    fields = [schema_dataset.SchemaDatasetFacetFields(name=name, type="text") for name in names]
    return schema_dataset.SchemaDatasetFacet(fields=fields)


def source(namespace, name, field, type_, subtype):
    """Return a source column with one transformation."""
    transformation = column_lineage_dataset.Transformation(type=type_, subtype=subtype)
    return column_lineage_dataset.InputField(
        namespace=namespace, name=name, field=field, transformations=[transformation]
    )


def emit(client, name, state, run, inputs=(), outputs=(), facets=None):
    """Send an event."""
    client.emit(
        RunEvent(
            eventTime=datetime.now(UTC).isoformat(),
            run=Run(runId=run, facets=facets or {}),
            job=Job(namespace=CASE, name=name),
            producer=PRODUCER,
            inputs=list(inputs),
            outputs=list(outputs),
            eventType=state,
        )
    )


def main():
    """Report a load, a report that fails once and succeeds, and the contract of the report."""
    client = OpenLineageClient()
    orders = InputDataset(
        namespace=LAKE, name="raw/orders", facets={"schema": schema("id", "amount", "country")}
    )
    load = column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            "id": column_lineage_dataset.Fields(
                inputFields=[source(LAKE, "raw/orders", "id", "DIRECT", "IDENTITY")]
            ),
            "cents": column_lineage_dataset.Fields(
                inputFields=[source(LAKE, "raw/orders", "amount", "DIRECT", "TRANSFORMATION")]
            ),
        },
        dataset=[source(LAKE, "raw/orders", "country", "INDIRECT", "FILTER")],
    )
    table = OutputDataset(
        namespace=SHOP,
        name="shop.public.orders",
        facets={"schema": schema("id", "cents"), "columnLineage": load},
    )
    run = str(generate_new_uuid())
    emit(client, "load_orders", RunState.START, run)
    emit(client, "load_orders", RunState.COMPLETE, run, [orders], [table])
    read = InputDataset(
        namespace=SHOP, name="shop.public.orders", facets={"schema": schema("id", "cents")}
    )
    total = column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            "total": column_lineage_dataset.Fields(
                inputFields=[source(SHOP, "shop.public.orders", "cents", "DIRECT", "AGGREGATION")]
            )
        }
    )
    report = OutputDataset(
        namespace=LAKE,
        name="reports/total",
        facets={"schema": schema("total"), "columnLineage": total},
    )
    run = str(generate_new_uuid())
    emit(client, "report_total", RunState.START, run)
    error = error_message_run.ErrorMessageRunFacet(
        message="no disk space", programmingLanguage="python"
    )
    emit(client, "report_total", RunState.FAIL, run, [read], [report], {"errorMessage": error})
    run = str(generate_new_uuid())
    emit(client, "report_total", RunState.START, run)
    emit(client, "report_total", RunState.COMPLETE, run, [read], [report])
    contract = documentation_dataset.DocumentationDatasetFacet(
        description="Total of all orders in cents"
    )
    client.emit(
        DatasetEvent(
            eventTime=datetime.now(UTC).isoformat(),
            producer=PRODUCER,
            dataset=StaticDataset(
                namespace=LAKE, name="reports/total", facets={"documentation": contract}
            ),
        )
    )


main()
