"""Tables of the Glue catalog, and the crawlers that made them of what lies in S3.

A table that no crawler made is described, and joined with where it lies. One that a crawler made
comes from there: below the crawl is a run for each table, so that a crawler of many tables does not
make each come from every prefix. Which of a crawler's crawls changed which table, Glue does not
say: tables count for the newest one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from throughline.collect import Lines
from throughline.harvest import Cursor, Portion
from throughline.harvest.events import (
    Body,
    FinishedRun,
    dataset,
    dataset_event,
    location,
    run_id,
    schema,
)
from throughline.log import RejectedLine
from throughline.spec import dump
from throughline.wrap.events import facet
from throughline_aws.harvest.aws import OVERLAP, Account, told

_STATES = {"COMPLETED": "COMPLETE", "FAILED": "FAIL", "STOPPED": "ABORT"}
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class _Crawled:
    """A table that a crawler made."""

    database: str
    name: str
    place: str
    made: datetime


class GlueTables:
    """The catalog of an account and region, or some databases of it."""

    def __init__(self, databases: Sequence[str], account: Account) -> None:
        self._databases = list(databases)
        self._account = account

    @cached_property
    def _glue(self) -> Any:
        return self._account.client("glue")

    @cached_property
    def _namespace(self) -> str:
        with told("the account of the Glue catalog"):
            account = self._account.client("sts").get_caller_identity()["Account"]
        return f"arn:aws:glue:{self._glue.meta.region_name}:{account}"

    @property
    def source(self) -> str:
        """The catalog with the databases."""
        return f"glue-tables:{self._namespace}:{'|'.join(sorted(self._databases))}"

    def harvest(self, cursor: Cursor, since: datetime | None) -> Iterator[Portion]:
        """Describe what changed since the last time; the cursor moves when all was looked at."""
        last = cursor.get("until")
        start = datetime.fromisoformat(last) - OVERLAP if last else since
        newest = last or ""
        crawled: dict[str, list[_Crawled]] = defaultdict(list)
        with told("the Glue catalog"):
            for database in self._databases or self._all_databases():
                for page in self._pages("get_tables", DatabaseName=database):
                    lines = Lines()
                    for table in page["TableList"]:
                        newest = max(newest, self._describe(table, start, crawled, lines))
                    yield Portion(lines, cursor)
            for page in self._pages("get_crawlers"):
                for crawler in page["Crawlers"]:
                    lines = Lines()
                    tables = crawled.get(crawler["Name"], [])
                    newest = max(newest, self._crawls(crawler, start, tables, lines))
                    yield Portion(lines, cursor)
        if newest:
            yield Portion(Lines(), {"until": newest})

    def _all_databases(self) -> Iterator[str]:
        for page in self._pages("get_databases"):
            yield from (database["Name"] for database in page["DatabaseList"])

    def _pages(self, operation: str, **query: Any) -> Iterator[dict[str, Any]]:
        pages: Iterator[dict[str, Any]] = iter(
            self._glue.get_paginator(operation).paginate(**query)
        )
        return pages

    def _describe(
        self,
        table: dict[str, Any],
        start: datetime | None,
        crawled: dict[str, list[_Crawled]],
        lines: Lines,
    ) -> str:
        """Describe a table; answers when it was changed."""
        database, name = table["DatabaseName"], table["Name"]
        made = table["CreateTime"].astimezone(UTC)
        changed = table.get("UpdateTime", made).astimezone(UTC)
        place = table.get("StorageDescriptor", {}).get("Location", "")
        crawler = table.get("Parameters", {}).get("UPDATED_BY_CRAWLER")
        if crawler and place:
            crawled[crawler].append(_Crawled(database, name, place, made))
        if start is None or changed >= start:
            facets = _facets(table, place="" if crawler else place)
            if link := self._link(table):
                facets["symlinks"] = _symlinks(
                    [*facets.pop("symlinks", {}).get("identifiers", []), link]
                )
            body = dataset(self._namespace, f"table/{database}/{name}", **facets)
            lines.add(dump(dataset_event(body, changed)), f"table {database}.{name}")
        return str(changed.isoformat())

    def _link(self, table: dict[str, Any]) -> Body | None:
        """The table that a resource link stands for."""
        target = table.get("TargetTable")
        if not target:
            return None
        region = target.get("Region") or self._glue.meta.region_name
        return {
            "namespace": f"arn:aws:glue:{region}:{target['CatalogId']}",
            "name": f"table/{target['DatabaseName']}/{target['Name']}",
            "type": "TABLE",
        }

    def _crawls(
        self,
        crawler: dict[str, Any],
        start: datetime | None,
        tables: list[_Crawled],
        lines: Lines,
    ) -> str:
        """Tell a crawler's ended crawls; answers when the newest ended."""
        ended = [each for each in self._history(crawler["Name"]) if each["State"] in _STATES]
        ended.sort(key=lambda each: each["EndTime"])
        good = [each for each in ended if each["State"] == "COMPLETED"]
        for crawl in ended:
            if start is not None and crawl["EndTime"] < start:
                continue
            is_newest = bool(good) and crawl is good[-1]
            for ran in self._ran(crawler, crawl, tables if is_newest else []):
                for body in ran.events():
                    lines.add(dump(body), f"crawler {crawler['Name']}")
        self._refuse_targets(crawler, tables, lines)
        return str(ended[-1]["EndTime"].astimezone(UTC).isoformat()) if ended else ""

    def _history(self, name: str) -> Iterator[dict[str, Any]]:
        query: dict[str, Any] = {"CrawlerName": name}
        while True:
            page = self._glue.list_crawls(**query)
            yield from page["Crawls"]
            if not page.get("NextToken"):
                return
            query["NextToken"] = page["NextToken"]

    def _ran(
        self, crawler: dict[str, Any], crawl: dict[str, Any], tables: list[_Crawled]
    ) -> Iterator[FinishedRun]:
        """The run of a crawl, and one below it for each table."""
        name, crawl_id = f"crawler/{crawler['Name']}", crawl["CrawlId"]
        times = {"started": crawl["StartTime"], "ended": crawl["EndTime"]}
        above = (self._namespace, name), run_id(self._namespace, name, crawl_id)
        about = crawler.get("Description")
        yield FinishedRun(
            *above,
            **times,
            kind="GLUE/CRAWLER",
            state=_STATES[crawl["State"]],
            error=crawl.get("ErrorMessage"),
            job_facets={"documentation": facet("1-1-0/DocumentationJob", description=about)}
            if about
            else {},
        )
        for table in tables:
            if table.made > crawl["EndTime"]:
                continue
            own = f"{name}.{table.database}.{table.name}"
            yield FinishedRun(
                (self._namespace, own),
                run_id(self._namespace, own, crawl_id),
                **times,
                kind="GLUE/TABLE",
                parent=above,
                inputs=[dataset(*location(table.place))],
                outputs=[dataset(self._namespace, f"table/{table.database}/{table.name}")],
            )

    def _refuse_targets(
        self, crawler: dict[str, Any], tables: list[_Crawled], lines: Lines
    ) -> None:
        """Say of which targets it is not known what they are called in OpenLineage."""
        for kind in ("JdbcTargets", "MongoDBTargets", "DynamoDBTargets"):
            for target in crawler.get("Targets", {}).get(kind, []):
                reason = (
                    f"what is in {target.get('Path')!r} has no name here: its tables have no input"
                )
                lines.rejected_lines.append(
                    RejectedLine(f"crawler {crawler['Name']} ({kind})", reason, "")
                )


def _facets(table: dict[str, Any], place: str) -> Body:
    storage = table.get("StorageDescriptor", {})
    given = table.get("Parameters", {})
    columns = [*storage.get("Columns", []), *table.get("PartitionKeys", [])]
    facets: Body = {}
    if columns:
        facets["schema"] = schema(
            (each["Name"], each.get("Type", "unknown"), each.get("Comment", "")) for each in columns
        )
    if about := table.get("Description") or given.get("comment"):
        facets["documentation"] = facet("1-1-0/DocumentationDataset", description=about)
    if owner := table.get("Owner"):
        owners = [{"name": owner, "type": "OWNER"}]
        facets["ownership"] = facet("1-0-1/OwnershipDataset", owners=owners)
    if form := given.get("table_type") or given.get("classification"):
        told = {"storageLayer": "glue", "fileFormat": form.lower()}
        facets["storage"] = facet("1-0-1/StorageDataset", **told)
    type_ = "VIEW" if table.get("TableType") == "VIRTUAL_VIEW" else "TABLE"
    facets["datasetType"] = facet("1-0-1/DatasetTypeDataset", datasetType=type_)
    if place:
        namespace, name = location(place)
        facets["symlinks"] = _symlinks([{"namespace": namespace, "name": name, "type": "LOCATION"}])
    return facets


def _symlinks(identifiers: list[Body]) -> Body:
    return facet("1-0-1/SymlinksDataset", identifiers=identifiers)


def glue_tables(databases: Sequence[str], region: str | None, profile: str | None) -> GlueTables:
    """The catalog of a region; all databases if none is named."""
    return GlueTables(databases, Account(region, profile))
