"""A backend that appends a line to a CSV file for each run that ends."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Literal

from headwater.errors import UnavailableError
from headwater.events import RunEvent, shown_time
from headwater.plugins.delivery.backend import Delivery
from headwater.plugins.delivery.models import BackendSettings

_ENDS = ("COMPLETE", "FAIL", "ABORT")


class CsvSettings(BackendSettings):
    """Settings of the backend; `path` is the file."""

    type: Literal["csv"] = "csv"
    path: str


class Csv:
    """Writes the time, job, run id and event type of each run that ends."""

    settings_class = CsvSettings

    def __init__(self, settings: CsvSettings) -> None:
        self._path = Path(settings.path)

    def send(self, delivery: Delivery) -> None:
        """Append a line. After an UnavailableError, the server calls it again later."""
        event = delivery.event
        if not isinstance(event, RunEvent) or event.type not in _ENDS:
            return
        try:
            with self._path.open("a", newline="") as file:
                row = (shown_time(event.time), event.job.name, event.run_id, event.type)
                csv.writer(file).writerow(row)
        except OSError as error:
            raise UnavailableError(f"{self._path}: {error.strerror}") from None

    def close(self) -> None:
        """Do nothing, because the file is opened for each event."""
