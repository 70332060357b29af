"""Ask the lakehouse on AWS with Athena."""

from __future__ import annotations

import time

from rich.console import Console
from rich.table import Table

from commands.sql import ROWS, BadQuery
from infra.aws import Aws, connect, explained
from lakehouse.errors import SettingsError
from lakehouse.names import DATABASE
from lakehouse.settings import Settings

POLL_SECONDS = 1.0


def run_athena(settings: Settings, query: str, profile: str | None) -> None:
    """Print a query's first rows, as many as Athena gives at once.

    Raises:
        SettingsError: the tables are not on AWS.
        BadQuery: Athena refuses it.
        InfraError: AWS does.
    """
    if settings.lakehouse != "glue":
        raise SettingsError("Athena sees the tables of LAKEHOUSE=glue only, and it is local.")
    aws = connect(settings, profile)
    with explained():
        query_id = aws.athena.start_query_execution(
            QueryString=query,
            QueryExecutionContext={"Database": DATABASE},
            ResultConfiguration={"OutputLocation": f"s3://{settings.bucket}/athena/"},
        )["QueryExecutionId"]
        _wait(aws, query_id)
        found = aws.athena.get_query_results(QueryExecutionId=query_id, MaxResults=ROWS)
    result = found["ResultSet"]
    names = [column["Name"] for column in result.get("ResultSetMetadata", {})["ColumnInfo"]]
    rows = [[cell.get("VarCharValue", "") for cell in row["Data"]] for row in result["Rows"]]
    table = Table(*names)
    for row in rows[1:] if rows[:1] == [names] else rows:  # of a SELECT the first has the names
        table.add_row(*row)
    Console().print(table)


def _wait(aws: Aws, query_id: str) -> None:
    while True:
        told = aws.athena.get_query_execution(QueryExecutionId=query_id)["QueryExecution"]["Status"]
        if told["State"] == "SUCCEEDED":
            return
        if told["State"] in ("FAILED", "CANCELLED"):
            raise BadQuery(f"{told['State']}: {told.get('StateChangeReason', 'no reason given')}")
        time.sleep(POLL_SECONDS)  # between two looks at the query
