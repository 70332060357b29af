"""Import events that a console transport wrote to CloudWatch Logs: of Glue jobs and MWAA tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from headwater.collect.lines import Lines
from headwater.collect.logs import events_in
from headwater.plugins.harvest.harvester import Cursor, Portion
from headwater.plugins.harvest.joined import Joiner
from headwater.redaction import Redactor
from headwater_aws.harvest._aws import Account, aws_errors, start_of


@dataclass(frozen=True)
class CloudWatchLogs:
    """One log group, or its streams with a name prefix."""

    kind: str
    group: str
    streams: str
    account: Account

    @cached_property
    def _client(self) -> Any:
        return self.account.client("logs")

    @property
    def source(self) -> str:
        """Kind, region, group and streams."""
        return f"{self.kind}:{self._client.meta.region_name}:{self.group}:{self.streams}"

    def harvest(
        self, cursor: Cursor, since: datetime | None, redactor: Redactor
    ) -> Iterator[Portion]:
        """Yield the records since the last harvest in order, page by page."""
        now = datetime.now(UTC)
        newest = start_of(cursor.get("until"), since, now)
        query: dict[str, Any] = {"logGroupName": self.group, "interleaved": True}
        query["startTime"] = int(newest.timestamp() * 1_000)
        if self.streams:
            query["logStreamNamePrefix"] = self.streams
        joiners: dict[str, Joiner[str]] = {}  # of streams with an incomplete line
        with aws_errors(f"{self.group} in CloudWatch Logs"):
            for page in self._client.get_paginator("filter_log_events").paginate(**query):
                lines = Lines(redactor)
                for record in page["events"]:
                    self._add_record(record, joiners, lines)
                    at = datetime.fromtimestamp(record["timestamp"] / 1_000, UTC)
                    newest = max(newest, min(at, now))
                yield Portion(lines, {"until": newest.isoformat()})
        lines = Lines(redactor)
        for joiner in joiners.values():
            _add_events(joiner.close(), lines)
        yield Portion(lines, {"until": newest.isoformat()})

    def _add_record(
        self, record: dict[str, Any], joiners: dict[str, Joiner[str]], lines: Lines
    ) -> None:
        """Add the events in the lines of a record; an incomplete line waits for the next record.

        Each stream has a joiner of its own while a line is incomplete.
        """
        stream = record["logStreamName"]
        joiner = joiners.setdefault(stream, Joiner())
        where = f"{self.group}/{stream}@{record['timestamp']}"
        for line in record["message"].encode().split(b"\n"):
            _add_events(joiner.feed(where, line.rstrip(b"\r")), lines)
        if joiner.open_since is None:
            del joiners[stream]


def _add_events(numbered: Iterator[tuple[str, bytes]], lines: Lines) -> None:
    for where, line in numbered:
        for text in events_in(line):
            lines.add(text, where)
