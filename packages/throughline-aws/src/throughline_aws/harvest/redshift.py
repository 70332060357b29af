"""The history of a Redshift database, asked through its Data API.

Statements of one shape are one job; each time one ran is a run, with its query id. The history
holds a week, and the first 4,000 characters of a text; SYS_QUERY_TEXT has longer ones in pieces.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from throughline.collect import Lines
from throughline.errors import ConfigError, ServerError
from throughline.harvest import Cursor, Portion
from throughline.harvest.events import Body, FinishedRun, dataset, location, run_id, schema
from throughline.log import RejectedLine
from throughline.spec import dump
from throughline.wrap.events import facet
from throughline_aws.harvest.aws import Account, start_of, told
from throughline_aws.harvest.model import Statement, UnreadError, after
from throughline_aws.harvest.relations import Origins, Table
from throughline_aws.harvest.session import SESSIONS, Columns, Session, SessionTable
from throughline_aws.harvest.statements import read_statement

_AT_ONCE = 500
_WHOLE = 4_000  # characters of a text that may go on in SYS_QUERY_TEXT
_SESSIONS = 500  # whose temporary tables are known
_SEEN = 20_000  # queries of the hour that is read again
_WAIT_SECONDS = 0.2
_OVER = ("FINISHED", "FAILED", "ABORTED")
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
        """What the Data API is told of it."""
        given = {
            "Database": self.database,
            "WorkgroupName": self.workgroup,
            "ClusterIdentifier": self.cluster,
            "DbUser": self.user,
            "SecretArn": self.secret,
        }
        return {key: value for key, value in given.items() if value is not None}


class Redshift:
    """The statements that ran in a database, as events."""

    def __init__(
        self, warehouse: Warehouse, account: Account, namespace: str | None = None
    ) -> None:
        self._warehouse = warehouse
        self._account = account
        self._given = namespace

    @cached_property
    def _client(self) -> Any:
        return self._account.client("redshift-data")

    @cached_property
    def _namespace(self) -> str:
        """As OpenLineage's naming page and `names.yaml` have it."""
        if self._given:
            return self._given
        region = self._client.meta.region_name
        if self._warehouse.cluster:
            return f"redshift://{self._warehouse.cluster}.{region}:5439"
        with told("the account of the workgroup"):
            owner = self._account.client("sts").get_caller_identity()["Account"]
        domain = "redshift-serverless.amazonaws.com:5439"
        return f"redshift://{self._warehouse.workgroup}.{owner}.{region}.{domain}"

    @property
    def source(self) -> str:
        """The namespace and the database."""
        return f"redshift:{self._namespace}:{self._warehouse.database}"

    def harvest(self, cursor: Cursor, since: datetime | None) -> Iterator[Portion]:
        """Read the history from the last time on, by when statements ended."""
        start = start_of(cursor.get("until"), since, datetime.now(UTC))
        at = {"time": _stamp(start), "id": "0"}
        sessions = SESSIONS.validate_python(cursor.get("sessions", {}))
        seen = dict.fromkeys(cursor.get("seen", []))  # in the order in which they ended
        with told(f"the history of {self._warehouse.database} in Redshift"):
            users = {str(id_): name for id_, name in self._ask(_USERS)}
            columns = self._columns()
            while rows := list(self._ask(_HISTORY, database=self._warehouse.database, **at)):
                lines = Lines()
                for query in (_Query.of(row, users) for row in rows):
                    # What was told is not told anew with the columns that tables have by now.
                    if query.id not in seen:
                        seen[query.id] = None
                        self._place(query, columns, sessions, lines)
                at = {"time": rows[-1][7], "id": str(rows[-1][0])}
                until = _moment(at["time"]).isoformat()
                for session in list(sessions)[:-_SESSIONS]:
                    del sessions[session]
                kept = SESSIONS.dump_python(sessions, mode="json")
                cursor = {"until": until, "sessions": kept, "seen": list(seen)[-_SEEN:]}
                yield Portion(lines, cursor)

    def _place(
        self,
        query: _Query,
        columns: Columns,
        sessions: dict[str, dict[str, SessionTable]],
        lines: Lines,
    ) -> None:
        """Add the events of a query if it moves data; note its effect on temporary tables."""
        text, place = query.text, f"query {query.id}"
        if len(text) >= _WHOLE:
            text = "".join(str(piece) for (piece,) in self._ask(_TEXT, id=query.id)).rstrip()
        text = text.replace("\\n", "\n").replace("\\t", "\t")  # as the system tables write them
        own = sessions.get(query.session, {})
        session = Session(self._warehouse.database, query.user, columns, own)
        try:
            statement = read_statement(text, session)
        except UnreadError as error:
            lines.rejected_lines.append(RejectedLine(place, str(error), ""))
            return
        if statement is None:
            return
        if statement.temporary and query.status == "success":
            sessions.pop(query.session, None)
            sessions[query.session] = after(own, statement)
        for name in statement.unknown:
            reason = f"the sources of temporary table {name} are unknown: no earlier query made it"
            lines.rejected_lines.append(RejectedLine(place, reason, ""))
        if statement.moves_data:
            for body in self._ran(query, text, statement, columns).events():
                lines.add(dump(body), place)

    def _ran(self, query: _Query, text: str, statement: Statement, columns: Columns) -> FinishedRun:
        target = statement.target
        named = ".".join(target) if target else f"{self._warehouse.database}.unload"
        parameters = [{"key": "user", "name": "user", "value": query.user}]
        return FinishedRun(
            (self._namespace, f"{named}.{statement.kind}.{statement.shape}"),
            run_id(self._namespace, query.id),
            query.started,
            query.ended,
            kind="REDSHIFT/QUERY",
            state=_STATES[query.status],
            error=query.error or None,
            inputs=[
                *(self._table(each, columns) for each in statement.tables),
                *(dataset(*location(url)) for url in statement.files),
            ],
            # A temporary table is no dataset: its readers have its sources as their inputs.
            outputs=[] if statement.temporary else [self._output(statement, columns)],
            job_facets={"sql": facet("1-1-0/SQLJob", query=text, dialect="redshift")},
            run_facets={
                "externalQuery": facet(
                    "1-0-2/ExternalQueryRun", externalQueryId=query.id, source=self._namespace
                ),
                "executionParameters": facet("1-0-0/ExecutionParametersRun", parameters=parameters),
            },
        )

    def _output(self, statement: Statement, columns: Columns) -> Body:
        if statement.target:
            output = self._table(statement.target, columns)
        else:
            output = dataset(*location(statement.to_file or ""))
        traced = {name: origins for name, origins in statement.columns.items() if origins}
        if traced or statement.indirect:
            output["facets"]["columnLineage"] = facet(
                "1-2-0/ColumnLineageDataset",
                fields={
                    name: {"inputFields": self._inputs(origins)} for name, origins in traced.items()
                },
                dataset=self._inputs(statement.indirect),
            )
        return output

    def _table(self, table: Table, columns: Columns) -> Body:
        known = columns.get(table)
        fields = [(name, type_, "") for name, type_ in known.items()] if known else []
        facets = {"schema": schema(fields)} if fields else {}
        return dataset(self._namespace, ".".join(table), **facets)

    def _inputs(self, origins: Origins) -> list[Body]:
        """Return source columns as the facet has them, each with all its transformations."""
        kinds: dict[tuple[Table, str], list[Body]] = {}
        for table, column, kind in sorted(origins):
            kinds.setdefault((table, column), []).append(kind._asdict())
        return [
            {
                "namespace": self._namespace,
                "name": ".".join(table),
                "field": column,
                "transformations": transformations,
            }
            for (table, column), transformations in kinds.items()
        ]

    def _columns(self) -> Columns:
        found: dict[Table, dict[str, str]] = {}
        for catalog, schema_, table, column, type_ in self._ask(_COLUMNS):
            found.setdefault((catalog, schema_, table), {})[column] = type_
        return found

    def _ask(self, sql: str, **values: str) -> Iterator[list[Any]]:
        """The rows of a query, page by page."""
        given = [{"name": name, "value": value} for name, value in values.items()]
        more: dict[str, Any] = {"Parameters": given} if given else {}
        id_ = self._client.execute_statement(Sql=sql, **self._warehouse.arguments, **more)["Id"]
        while (about := self._client.describe_statement(Id=id_))["Status"] not in _OVER:
            time.sleep(_WAIT_SECONDS)  # between two looks at the query
        if about["Status"] != "FINISHED":
            raise ServerError(f"Redshift: {about.get('Error', about['Status'])}")
        for page in self._client.get_paginator("get_statement_result").paginate(Id=id_):
            for record in page["Records"]:
                yield [None if "isNull" in cell else next(iter(cell.values())) for cell in record]


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
    """A time of the system tables, which is UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")


def redshift(
    database: str,
    workgroup: str | None,
    cluster: str | None,
    db_user: str | None,
    secret_arn: str | None,
    namespace: str | None,
    region: str | None,
    profile: str | None,
) -> Redshift:
    """The history of a database of a workgroup or a cluster."""
    warehouse = Warehouse(database, workgroup, cluster, db_user, secret_arn)
    return Redshift(warehouse, Account(region, profile), namespace)
