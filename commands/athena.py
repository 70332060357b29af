"""Query the lakehouse on AWS with Athena."""

from __future__ import annotations

import logging
import re
import time

import sqlglot
from rich.table import Table
from rich.text import Text
from sqlglot import exp
from sqlglot.errors import SqlglotError

from commands.sql import ROWS, BadQuery, writing_query
from headwater.console.render import SafeConsole
from infra.aws import Aws, connect, explained
from lakehouse.errors import SettingsError
from lakehouse.names import DATABASE
from lakehouse.settings import Settings

POLL_SECONDS = 1.0


WRITING = (exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.Merge, exp.Command, exp.Into)
EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?!ANALYZE\b)(\([^)]*\)\s*)?", re.IGNORECASE)


def run_athena(settings: Settings, query: str, *, may_write: bool = False) -> None:
    """Print a query's first rows, up to one page of Athena's results.

    Raises:
        SettingsError: the tables are not on AWS.
        BadQuery: Athena rejects the query.
        WritingQuery: the query may change data, and `may_write` is False.
        InfraError: AWS rejects the request.
    """
    if settings.lakehouse != "glue":
        raise SettingsError(
            "Athena can only query tables on AWS, but LAKEHOUSE is local. Set LAKEHOUSE=glue, or "
            "use --engine spark."
        )
    if not may_write and not is_reading(query):
        raise writing_query(f"is {' '.join(query.split()[:3])!r} ...")
    aws = connect(settings)
    with explained():
        query_id = aws.athena.start_query_execution(
            QueryString=query,
            QueryExecutionContext={"Database": DATABASE},
            ResultConfiguration={"OutputLocation": f"s3://{settings.bucket}/athena/"},
        )["QueryExecutionId"]
        _wait(aws, query_id)
        response = aws.athena.get_query_results(QueryExecutionId=query_id, MaxResults=ROWS)
    result = response["ResultSet"]
    names = [column["Name"] for column in result.get("ResultSetMetadata", {})["ColumnInfo"]]
    rows = [[cell.get("VarCharValue", "") for cell in row["Data"]] for row in result["Rows"]]
    table = Table()
    for name in names:  # as Text, because rich interprets brackets in a str as markup
        table.add_column(Text(name))
    for row in rows[1:] if rows[:1] == [names] else rows:  # a SELECT's first row has the names
        table.add_row(*map(Text, row))
    SafeConsole(keep="\n").print(table)


def is_reading(query: str) -> bool:
    """Return True if the query certainly changes nothing; False if it cannot be parsed.

    EXPLAIN runs nothing, but EXPLAIN ANALYZE does.
    """
    if re.match(r"\s*(SHOW|DESCRIBE|DESC)\s+[^;]*;?\s*$", query, re.IGNORECASE):
        return True
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # no warnings of unsupported syntax
    try:
        statements = sqlglot.parse(EXPLAIN.sub("", query, count=1), dialect="athena")
    except SqlglotError:
        return False
    return len(statements) == 1 and (
        isinstance(statements[0], exp.Query | exp.Values) and not statements[0].find(*WRITING)
    )


def _wait(aws: Aws, query_id: str) -> None:
    while True:
        status = aws.athena.get_query_execution(QueryExecutionId=query_id)["QueryExecution"][
            "Status"
        ]
        if status["State"] == "SUCCEEDED":
            return
        if status["State"] in ("FAILED", "CANCELLED"):
            reason = status.get("StateChangeReason", "no reason given")
            raise BadQuery(f"The query is {status['State']} in Athena: {reason}")
        time.sleep(POLL_SECONDS)
