"""Import the query history of a Redshift database through its Data API.

Statements with the same shape are one job; each execution is a run, identified by its query id. The
history covers a week and the first 4,000 characters of a text; SYS_QUERY_TEXT has the rest.

Temporary tables of a session are no datasets. The cursor stores them with their sources, which are
the inputs of a later query of the session that reads one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    column_lineage_dataset,
    execution_parameters_run,
    external_query_run,
    sql_job,
)

from headwater.collect.lines import Lines
from headwater.errors import ConfigError, ServerError
from headwater.plugins.harvest.events import FinishedRun, location, run_id, schema, to_json
from headwater.plugins.harvest.harvester import Cursor, Portion
from headwater.plugins.sql.model import Statement, after
from headwater.plugins.sql.session import SESSIONS, Columns, Session, SessionTable
from headwater.plugins.sql.statements import read_statement
from headwater.plugins.sql.steps import UnreadError
from headwater.redaction import Redactor
from headwater.sql.reader import Origins, Table
from headwater_aws.harvest._aws import Account, aws_errors, start_of
from headwater_client.events import PRODUCER
from headwater_client.parents import RunRef

_AT_ONCE = 500
_WHOLE = 4_000  # characters; longer texts continue in SYS_QUERY_TEXT
_SESSIONS = 500  # sessions whose temporary tables are stored
_MOST_KNOWN_QUERIES = 20_000  # queries of the overlap that is read again
_WAIT_SECONDS = 0.2
_FINAL_STATUSES = ("FINISHED", "FAILED", "ABORTED")
_STATES = {"success": "COMPLETE", "failed": "FAIL", "canceled": "ABORT"}

_HISTORY = f"""
SELECT query_id, user_id, session_id, status, error_message, query_text,
  CAST(start_time AS varchar(32)) AS began, CAST(end_time AS varchar(32)) AS ended
FROM sys_query_history
WHERE database_name = :database AND user_id > 1
  AND (query_type <> 'SELECT' OR query_text ILIKE '%into%')
  AND status IN ('success', 'failed', 'canceled')
  AND (end_time > CAST(:time AS timestamp)
    OR (end_time = CAST(:time AS timestamp) AND query_id > CAST(:id AS bigint)))
ORDER BY end_time, query_id LIMIT {_AT_ONCE}"""
_TEXT = "SELECT text FROM sys_query_text WHERE query_id = CAST(:id AS bigint) ORDER BY sequence"
_COLUMNS = """
SELECT table_catalog, table_schema, table_name, column_name, data_type
FROM svv_columns WHERE table_schema NOT IN ('information_schema', 'pg_catalog', 'pg_internal')
ORDER BY table_catalog, table_schema, table_name, ordinal_position"""
_USERS = "SELECT usesysid, usename FROM pg_user"


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A serverless workgroup, or a provisioned cluster with a user or a secret, and a database."""

    database: str
    workgroup: str | None = None
    cluster: str | None = None
    user: str | None = None
    secret: str | None = None

    def __post_init__(self) -> None:
        if (self.workgroup is None) == (self.cluster is None):
            count = "both" if self.cluster else "neither"
            raise ConfigError(f"received {count} of --workgroup and --cluster, expected one")

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments of the Data API."""
        arguments = {
            "Database": self.database,
            "WorkgroupName": self.workgroup,
            "ClusterIdentifier": self.cluster,
            "DbUser": self.user,
            "SecretArn": self.secret,
        }
        return {key: value for key, value in arguments.items() if value is not None}


@dataclass(frozen=True)
class Redshift:
    """The statements executed in a database, as events."""

    warehouse: Warehouse
    account: Account
    explicit_namespace: str | None

    @cached_property
    def _client(self) -> Any:
        return self.account.client("redshift-data")

    @cached_property
    def _namespace(self) -> str:
        """The namespace, in the form of OpenLineage's naming page and `names.yaml`."""
        if self.explicit_namespace:
            return self.explicit_namespace
        region = self._client.meta.region_name
        if self.warehouse.cluster:
            return f"redshift://{self.warehouse.cluster}.{region}:5439"
        owner = self.account.number("the workgroup")
        domain = "redshift-serverless.amazonaws.com:5439"
        return f"redshift://{self.warehouse.workgroup}.{owner}.{region}.{domain}"

    @property
    def source(self) -> str:
        """The namespace and the database."""
        return f"redshift:{self._namespace}:{self.warehouse.database}"

    def harvest(
        self, cursor: Cursor, since: datetime | None, redactor: Redactor
    ) -> Iterator[Portion]:
        """Yield the statements since the last harvest, by their end time."""
        start = start_of(cursor.get("until"), since, datetime.now(UTC))
        at = {"time": _stamp(start), "id": "0"}
        sessions = SESSIONS.validate_python(cursor.get("sessions", {}))
        known_queries = dict.fromkeys(cursor.get("seen", []))  # ordered by end time
        with aws_errors(f"the history of {self.warehouse.database} in Redshift"):
            users = {str(id_): name for id_, name in self._rows_of(_USERS)}
            columns = self._columns()
            while rows := list(self._rows_of(_HISTORY, database=self.warehouse.database, **at)):
                lines = Lines(redactor)
                for query in (_Query.of(row, users) for row in rows):
                    # Do not import a query again with the current columns of its tables.
                    if query.id not in known_queries:
                        known_queries[query.id] = None
                        self._add_query(query, columns, sessions, lines)
                at = {"time": rows[-1][7], "id": str(rows[-1][0])}
                until = _moment(at["time"]).isoformat()
                for session in list(sessions)[:-_SESSIONS]:
                    del sessions[session]
                kept = SESSIONS.dump_python(sessions, mode="json")
                cursor = {
                    "until": until,
                    "sessions": kept,
                    "seen": list(known_queries)[-_MOST_KNOWN_QUERIES:],
                }
                yield Portion(lines, cursor)

    def _add_query(
        self,
        query: _Query,
        columns: Columns,
        sessions: dict[str, dict[str, SessionTable]],
        lines: Lines,
    ) -> None:
        """Add the events of a query if it moves data; record its effect on temporary tables."""
        text, place = query.text, f"query {query.id}"
        if len(text) >= _WHOLE:
            text = "".join(str(piece) for (piece,) in self._rows_of(_TEXT, id=query.id)).rstrip()
        text = text.replace("\\n", "\n").replace("\\t", "\t")  # in the format of the system tables
        temporary = sessions.get(query.session, {})
        session = Session(self.warehouse.database, query.user, columns, temporary, has_shapes=True)
        try:
            statement = read_statement(text, session)
        except UnreadError as error:
            lines.add_problem(place, str(error))
            return
        if statement is None:
            return
        if statement.temporary and query.status == "success":
            sessions.pop(query.session, None)  # to the end: the oldest sessions are forgotten first
            sessions[query.session] = after(temporary, statement)
        for name in statement.unknown:
            reason = f"the sources of temporary table {name} are unknown: no query created it"
            lines.add_problem(place, reason)
        if statement.moves_data:
            for event in self._run(query, text, statement, columns).events():
                lines.add(to_json(event), place)

    def _run(self, query: _Query, text: str, statement: Statement, columns: Columns) -> FinishedRun:
        """Return the run of a query; its job is named `db.schema.table.insert.SHAPE`."""
        target = statement.target
        named = ".".join(target) if target else f"{self.warehouse.database}.unload"
        job = f"{named}.{statement.kind}.{statement.shape}"
        user = execution_parameters_run.ExecutionParameter("user", "user", value=query.user)
        return FinishedRun(
            ref=RunRef(self._namespace, job, run_id(self._namespace, query.id)),
            started=query.started,
            ended=query.ended,
            integration="REDSHIFT",
            job_type="QUERY",
            state=_STATES[query.status],
            error=query.error,
            inputs=[
                *(
                    InputDataset(*self._name(table), facets=_facets(table, columns))
                    for table in statement.tables
                ),
                *(InputDataset(*location(url)) for url in statement.files),
            ],
            # A temporary table is not a dataset: its readers have its sources as inputs.
            outputs=[] if statement.temporary else [self._output(statement, columns)],
            job_facets={"sql": sql_job.SQLJobFacet(text, "redshift", producer=PRODUCER)},
            run_facets={
                "externalQuery": external_query_run.ExternalQueryRunFacet(
                    query.id, self._namespace, producer=PRODUCER
                ),
                "executionParameters": execution_parameters_run.ExecutionParametersRunFacet(
                    [user], producer=PRODUCER
                ),
            },
        )

    def _output(self, statement: Statement, columns: Columns) -> OutputDataset:
        """Return the table or the files that a statement writes, with their column lineage."""
        facets: dict[str, DatasetFacet] = {}
        if statement.target:
            name, facets = self._name(statement.target), _facets(statement.target, columns)
        else:
            name = location(statement.to_file or "")
        traced = {column: origins for column, origins in statement.columns.items() if origins}
        if traced or statement.indirect:
            facets["columnLineage"] = column_lineage_dataset.ColumnLineageDatasetFacet(
                {
                    column: column_lineage_dataset.Fields(self._inputs(origins))
                    for column, origins in traced.items()
                },
                self._inputs(statement.indirect),
                producer=PRODUCER,
            )
        return OutputDataset(*name, facets=facets)

    def _name(self, table: Table) -> tuple[str, str]:
        return self._namespace, ".".join(table)

    def _inputs(self, origins: Origins) -> list[column_lineage_dataset.InputField]:
        """Return source columns in the facet's format, each with all its transformations."""
        kinds: dict[tuple[Table, str], list[column_lineage_dataset.Transformation]] = {}
        for table, column, kind in sorted(origins):
            kinds.setdefault((table, column), []).append(
                column_lineage_dataset.Transformation(**kind._asdict())
            )
        return [
            column_lineage_dataset.InputField(*self._name(table), column, transformations)
            for (table, column), transformations in kinds.items()
        ]

    def _columns(self) -> Columns:
        found: dict[Table, dict[str, str]] = {}
        for catalog, schema_, table, column, type_ in self._rows_of(_COLUMNS):
            found.setdefault((catalog, schema_, table), {})[column] = type_
        return found

    def _rows_of(self, sql: str, **values: str) -> Iterator[list[Any]]:
        """Yield the rows of a query, page by page."""
        parameters = [{"name": name, "value": value} for name, value in values.items()]
        options: dict[str, Any] = {"Parameters": parameters} if parameters else {}
        id_ = self._client.execute_statement(Sql=sql, **self.warehouse.arguments, **options)["Id"]
        while (description := self._client.describe_statement(Id=id_))[
            "Status"
        ] not in _FINAL_STATUSES:
            time.sleep(_WAIT_SECONDS)  # between two polls of the query
        if description["Status"] != "FINISHED":
            raise ServerError(f"Redshift: {description.get('Error', description['Status'])}")
        for page in self._client.get_paginator("get_statement_result").paginate(Id=id_):
            for record in page["Records"]:
                yield [None if "isNull" in cell else next(iter(cell.values())) for cell in record]


def _facets(table: Table, columns: Columns) -> dict[str, DatasetFacet]:
    fields = [(name, type_, "") for name, type_ in columns.get(table, {}).items()]
    return {"schema": schema(fields)} if fields else {}


@dataclass(frozen=True, slots=True)
class _Query:
    """A row of the history."""

    id: str
    user: str
    session: str
    status: str
    error: str
    text: str
    started: datetime
    ended: datetime

    @classmethod
    def of(cls, row: list[Any], users: dict[str, str]) -> _Query:
        id_, user, session, status, error, text, started, ended = row
        return cls(
            str(id_),
            users.get(str(user), str(user)),
            str(session),
            str(status).strip(),
            str(error or "").strip(),
            str(text or ""),
            _moment(started),
            _moment(ended),
        )


def _moment(text: str) -> datetime:
    """Parse a time of the system tables, which is UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")
