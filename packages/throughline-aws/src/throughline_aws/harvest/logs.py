"""Events that a console transport left in CloudWatch Logs: of Glue's jobs, of MWAA's tasks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from throughline.collect import Lines
from throughline.collect.logs import events_in
from throughline.harvest import Cursor, Joiner, Portion
from throughline_aws.harvest.aws import Account, start_of, told

GLUE_GROUP = "/aws-glue/jobs/error"
"""Where Glue puts stderr, which Spark logs to; with continuous logging it is logs-v2."""


class CloudWatchLogs:
    """One log group, or what of it is in streams whose names begin so."""

    def __init__(self, kind: str, group: str, streams: str, account: Account) -> None:
        self._kind = kind
        self._group = group
        self._streams = streams
        self._account = account

    @cached_property
    def _client(self) -> Any:
        return self._account.client("logs")

    @property
    def source(self) -> str:
        """Kind, region, group and streams."""
        return f"{self._kind}:{self._client.meta.region_name}:{self._group}:{self._streams}"

    def harvest(self, cursor: Cursor, since: datetime | None) -> Iterator[Portion]:
        """Read all records from the last time on, in their order, page by page."""
        now = datetime.now(UTC)
        newest = start_of(cursor.get("until"), since, now)
        query: dict[str, Any] = {"logGroupName": self._group, "interleaved": True}
        query["startTime"] = int(newest.timestamp() * 1_000)
        if self._streams:
            query["logStreamNamePrefix"] = self._streams
        joiners: dict[str, Joiner[str]] = {}  # of the streams that have a line open
        with told(f"{self._group} in CloudWatch Logs"):
            for page in self._client.get_paginator("filter_log_events").paginate(**query):
                lines = Lines()
                for record in page["events"]:
                    self._take(record, joiners, lines)
                    at = datetime.fromtimestamp(record["timestamp"] / 1_000, UTC)
                    newest = max(newest, min(at, now))
                yield Portion(lines, {"until": newest.isoformat()})
        lines = Lines()
        for joiner in joiners.values():
            _place(joiner.close(), lines)
        yield Portion(lines, {"until": newest.isoformat()})

    def _take(self, record: dict[str, Any], joiners: dict[str, Joiner[str]], lines: Lines) -> None:
        stream = record["logStreamName"]
        joiner = joiners.setdefault(stream, Joiner())
        where = f"{self._group}/{stream}@{record['timestamp']}"
        for line in record["message"].encode().split(b"\n"):
            _place(joiner.feed(where, line.rstrip(b"\r")), lines)
        if joiner.open_since is None:
            del joiners[stream]


def _place(whole: Iterator[tuple[str, bytes]], lines: Lines) -> None:
    for where, line in whole:
        for text in events_in(line):
            lines.add(text, where)


def glue_job_logs(
    log_group: str | None, streams: str, region: str | None, profile: str | None
) -> CloudWatchLogs:
    """The logs of Glue's jobs, or of whatever else Spark logs to a group."""
    account = Account(region, profile)
    return CloudWatchLogs("glue-job-logs", log_group or GLUE_GROUP, streams, account)


def mwaa_logs(
    environment: str, streams: str, region: str | None, profile: str | None
) -> CloudWatchLogs:
    """The logs of the tasks of an MWAA environment."""
    account = Account(region, profile)
    return CloudWatchLogs("mwaa-logs", f"airflow-{environment}-Task", streams, account)
