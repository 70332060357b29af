"""Import the events that Marquez received: its table `lineage_events` in PostgreSQL.

Marquez keeps every event as it was sent. The table has no unique key, so an import continues with
the time of the last event that it read (`created_at`, which older versions did not store).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg.conninfo import conninfo_to_dict

from headwater.collect.lines import Lines
from headwater.errors import ConfigError, ServerError
from headwater.plugins.harvest.harvester import Cursor, Portion
from headwater.redaction import Redactor

_AT_ONCE = 500
_EVENTS = """
SELECT event::text, created_at::text FROM lineage_events
WHERE (%(after)s::timestamp IS NULL OR created_at >= %(after)s::timestamp)
  AND (%(since)s::timestamptz IS NULL OR event_time >= %(since)s::timestamptz)
ORDER BY created_at NULLS FIRST, event_time"""


@dataclass(frozen=True)
class Marquez:
    """The database of Marquez."""

    conninfo: str
    """A URL or a connection string of libpq; what it lacks comes from variables such as PGHOST."""

    @property
    def source(self) -> str:
        """The server and the database, without user and password.

        Raises ConfigError if the connection string is invalid.
        """
        try:
            parts = conninfo_to_dict(self.conninfo)
        except psycopg.ProgrammingError as error:
            raise ConfigError(
                f"harvest marquez: {str(error).strip()}; expected a URL such as "
                "postgresql://marquez@localhost:5432/marquez"
            ) from None
        place = (str(parts.get(key) or "") for key in ("host", "port", "dbname"))
        return f"marquez:{'/'.join(place)}"

    def harvest(
        self, cursor: Cursor, since: datetime | None, redactor: Redactor
    ) -> Iterator[Portion]:
        """Yield the events that Marquez stored since the last harvest, in that order.

        The cursor is the time when the last read event was stored. Events with that time are read
        again.

        Raises:
            ConfigError: it is not a database of Marquez.
            ServerError: the database does not respond.
        """
        after = cursor.get("createdAt")
        source = self.source
        try:
            with (
                closing(psycopg.connect(self.conninfo)) as connection,
                connection.cursor("events") as rows,
            ):
                connection.read_only = True
                rows.execute(_EVENTS, {"after": after, "since": since})
                while found := rows.fetchmany(_AT_ONCE):
                    lines = Lines(redactor)
                    for event, created in found:
                        lines.add(event.encode(), source)
                        after = created or after
                    yield Portion(lines, {"createdAt": after})
        except psycopg.errors.UndefinedTable:
            raise ConfigError(
                f"{source} has no table lineage_events, expected the database of Marquez"
            ) from None
        except psycopg.OperationalError as error:
            raise ServerError(f"{source}: {str(error).strip()}") from None
