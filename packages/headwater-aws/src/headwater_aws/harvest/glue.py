"""Import tables of the Glue catalog, and the crawlers that created them.

A table without a crawler is described, and joined with its location by a symlink. A table of a
crawler is an output with its location as input: every crawl has a child run for each table, so that
a table does not depend on the locations of other tables. Glue does not report which crawl changed
which table, so tables are assigned to the newest crawl.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    dataset_type_dataset,
    documentation_dataset,
    documentation_job,
    ownership_dataset,
    storage_dataset,
    symlinks_dataset,
)

from headwater.collect.lines import Lines
from headwater.plugins.harvest.events import (
    FinishedRun,
    dataset_event,
    location,
    run_id,
    schema,
    to_json,
)
from headwater.plugins.harvest.harvester import Cursor, Portion
from headwater.redaction import Redactor
from headwater_aws.harvest._aws import OVERLAP, Account, aws_errors
from headwater_client.events import PRODUCER
from headwater_client.parents import RunRef

_STATES = {"COMPLETED": "COMPLETE", "FAILED": "FAIL", "STOPPED": "ABORT"}

Json = dict[str, Any]
"""An answer of Glue."""


@dataclass(frozen=True, slots=True)
class _CrawledTable:
    """A table that was created by a crawler."""

    database: str
    name: str
    location_url: str
    created: datetime


@dataclass(frozen=True)
class GlueTables:
    """The Glue catalog of an account and region, or some databases of it."""

    databases: Sequence[str]
    account: Account

    @cached_property
    def _glue(self) -> Any:
        return self.account.client("glue")

    @cached_property
    def _namespace(self) -> str:
        account = self.account.number("the Glue catalog")
        return f"arn:aws:glue:{self._glue.meta.region_name}:{account}"

    @property
    def source(self) -> str:
        """The catalog and the databases."""
        return f"glue-tables:{self._namespace}:{'|'.join(sorted(self.databases))}"

    def harvest(
        self, cursor: Cursor, since: datetime | None, redactor: Redactor
    ) -> Iterator[Portion]:
        """Yield the tables changed since the last harvest; the cursor moves at the end."""
        last = cursor.get("until")
        start = datetime.fromisoformat(last) - OVERLAP if last else since
        newest = last or ""
        crawled: dict[str, list[_CrawledTable]] = defaultdict(list)
        with aws_errors("the Glue catalog"):
            for database in self.databases or self._all_databases():
                for page in self._pages("get_tables", DatabaseName=database):
                    lines = Lines(redactor)
                    for table in page["TableList"]:
                        newest = max(newest, self._describe(table, start, crawled, lines))
                    yield Portion(lines, cursor)
            for page in self._pages("get_crawlers"):
                for crawler in page["Crawlers"]:
                    lines = Lines(redactor)
                    tables = crawled.get(crawler["Name"], [])
                    newest = max(newest, self._crawls(crawler, start, tables, lines))
                    yield Portion(lines, cursor)
        if newest:
            yield Portion(Lines(redactor), {"until": newest})

    def _all_databases(self) -> Iterator[str]:
        for page in self._pages("get_databases"):
            yield from (database["Name"] for database in page["DatabaseList"])

    def _pages(self, operation: str, **query: Any) -> Iterator[Json]:
        pages: Iterator[Json] = iter(self._glue.get_paginator(operation).paginate(**query))
        return pages

    def _describe(
        self,
        table: Json,
        start: datetime | None,
        crawled: dict[str, list[_CrawledTable]],
        lines: Lines,
    ) -> str:
        """Add a table's event if it changed; return the time of its last change.

        A table of a crawler is added to `crawled`, by the name of the crawler: it gets its location
        as an input of the crawls, not as a symlink.
        """
        database, name = table["DatabaseName"], table["Name"]
        created = table["CreateTime"].astimezone(UTC)
        changed = table.get("UpdateTime", created).astimezone(UTC)
        location_url = table.get("StorageDescriptor", {}).get("Location", "")
        crawler = table.get("Parameters", {}).get("UPDATED_BY_CRAWLER")
        if crawler and location_url:
            crawled[crawler].append(_CrawledTable(database, name, location_url, created))
        if start is None or changed >= start:
            facets = _facets(table)
            links = [] if crawler or not location_url else [(*location(location_url), "LOCATION")]
            if symlinks := [*links, *self._resource_link_targets(table)]:
                facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet(
                    [symlinks_dataset.Identifier(*symlink) for symlink in symlinks],
                    producer=PRODUCER,
                )
            event = dataset_event(self._namespace, f"table/{database}/{name}", facets, changed)
            lines.add(to_json(event), f"table {database}.{name}")
        return str(changed.isoformat())

    def _resource_link_targets(self, table: Json) -> Iterator[tuple[str, str, str]]:
        """Yield the namespace, name and type of the target table of a resource link."""
        if target := table.get("TargetTable"):
            region = target.get("Region") or self._glue.meta.region_name
            name = f"table/{target['DatabaseName']}/{target['Name']}"
            yield f"arn:aws:glue:{region}:{target['CatalogId']}", name, "TABLE"

    def _crawls(
        self,
        crawler: Json,
        start: datetime | None,
        tables: list[_CrawledTable],
        lines: Lines,
    ) -> str:
        """Add the events of a crawler's finished crawls; return the end of the newest one."""
        ended = [crawl for crawl in self._history(crawler["Name"]) if crawl["State"] in _STATES]
        ended.sort(key=lambda crawl: crawl["EndTime"])
        completed = [crawl for crawl in ended if crawl["State"] == "COMPLETED"]
        for crawl in ended:
            if start is not None and crawl["EndTime"] < start:
                continue
            is_newest = bool(completed) and crawl is completed[-1]
            for run in self._runs(crawler, crawl, tables if is_newest else []):
                for event in run.events():
                    lines.add(to_json(event), f"crawler {crawler['Name']}")
        self._reject_targets(crawler, tables, lines)
        return str(ended[-1]["EndTime"].astimezone(UTC).isoformat()) if ended else ""

    def _history(self, name: str) -> Iterator[Json]:
        query: dict[str, Any] = {"CrawlerName": name}
        while True:
            page = self._glue.list_crawls(**query)
            yield from page["Crawls"]
            if not page.get("NextToken"):
                return
            query["NextToken"] = page["NextToken"]

    def _runs(
        self, crawler: Json, crawl: Json, tables: list[_CrawledTable]
    ) -> Iterator[FinishedRun]:
        """Yield the run of a crawl and a child run for each table."""
        name, crawl_id = f"crawler/{crawler['Name']}", crawl["CrawlId"]
        times = {"started": crawl["StartTime"], "ended": crawl["EndTime"]}
        parent = RunRef(self._namespace, name, run_id(self._namespace, name, crawl_id))
        facets: dict[str, JobFacet] = {}
        if description := crawler.get("Description"):
            facets["documentation"] = documentation_job.DocumentationJobFacet(
                description, producer=PRODUCER
            )
        yield FinishedRun(
            ref=parent,
            **times,
            integration="GLUE",
            job_type="CRAWLER",
            state=_STATES[crawl["State"]],
            error=crawl.get("ErrorMessage"),
            job_facets=facets,
        )
        for table in tables:
            if table.created > crawl["EndTime"]:
                continue
            table_job = f"{name}.{table.database}.{table.name}"
            table_id = run_id(self._namespace, table_job, crawl_id)
            yield FinishedRun(
                ref=RunRef(self._namespace, table_job, table_id),
                **times,
                integration="GLUE",
                job_type="TABLE",
                parents=(parent, parent),
                inputs=[InputDataset(*location(table.location_url))],
                outputs=[OutputDataset(self._namespace, f"table/{table.database}/{table.name}")],
            )

    def _reject_targets(self, crawler: Json, tables: list[_CrawledTable], lines: Lines) -> None:
        """Reject targets whose OpenLineage names are unknown."""
        for kind in ("JdbcTargets", "MongoDBTargets", "DynamoDBTargets"):
            for target in crawler.get("Targets", {}).get(kind, []):
                reason = f"unsupported target {target.get('Path')!r}: its tables have no input"
                lines.add_problem(f"crawler {crawler['Name']} ({kind})", reason)


def _facets(table: Json) -> dict[str, DatasetFacet]:
    """Return the type, columns, description, owner and format that Glue has of a table."""
    storage = table.get("StorageDescriptor", {})
    parameters = table.get("Parameters", {})
    columns = [*storage.get("Columns", []), *table.get("PartitionKeys", [])]
    type_ = "VIEW" if table.get("TableType") == "VIRTUAL_VIEW" else "TABLE"
    facets: dict[str, DatasetFacet] = {
        "datasetType": dataset_type_dataset.DatasetTypeDatasetFacet(type_, producer=PRODUCER)
    }
    if columns:
        facets["schema"] = schema(
            (column["Name"], column.get("Type", "unknown"), column.get("Comment", ""))
            for column in columns
        )
    if description := table.get("Description") or parameters.get("comment"):
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(
            description, producer=PRODUCER
        )
    if owner := table.get("Owner"):
        owners = [ownership_dataset.Owner(owner, "OWNER")]
        facets["ownership"] = ownership_dataset.OwnershipDatasetFacet(owners, producer=PRODUCER)
    if format_ := parameters.get("table_type") or parameters.get("classification"):
        facets["storage"] = storage_dataset.StorageDatasetFacet(
            "glue", format_.lower(), producer=PRODUCER
        )
    return facets
