"""Find damaged rows of the log, and move them aside on request.

`seq` is the number of a row, in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import delete

from headwater.errors import EventError
from headwater.log import EventLog, RejectedLine, read_logged, schema


@dataclass(frozen=True, slots=True)
class DamagedRow:
    """A row that is neither an event nor an alias: its `seq`, the reason and its text."""

    seq: int
    reason: str
    text: str


def damaged_rows(log: EventLog) -> Iterator[DamagedRow]:
    """Yield every row of the log that cannot be read, in order of arrival.

    A row is an OpenLineage event or a statement about names. Its `kind` (`"openlineage"` or
    `"alias"`) decides how its text is read. Secrets in texts and reasons are masked.
    """
    redact_line = log.redactor.redact_line
    for seq, kind, _, body in log.rows():
        try:
            read_logged(kind, body)
        except EventError as error:
            yield DamagedRow(seq, redact_line(str(error)), redact_line(body))


def move_aside(log: EventLog, rows: Sequence[DamagedRow]) -> None:
    """Move damaged rows to the rejected lines in one transaction, with their text.

    Snapshots are deleted, even if no row is damaged. The next start creates a new one.
    """
    log.reject([(row.seq, RejectedLine(f"log@{row.seq}", row.reason, row.text)) for row in rows])
    with log.writing() as connection:
        connection.execute(delete(schema.snapshots))
