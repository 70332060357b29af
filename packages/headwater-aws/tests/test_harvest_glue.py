"""Import of the Glue catalog from moto's server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

Aws = Callable[[str], Any]
Harvest = Callable[..., Any]
Harvested = Callable[..., list[dict[str, Any]]]

pytestmark = pytest.mark.server

_CATALOG = "arn:aws:glue:us-east-1:123456789012"


def _table(glue: Any, name: str, database: str = "lake", **more: Any) -> None:
    columns = [
        {"Name": "id", "Type": "bigint", "Comment": "of a ride"},
        {"Name": "at", "Type": "date"},
    ]
    place = {"Location": f"s3://raw/{name}/", "Columns": columns}
    glue.create_table(
        DatabaseName=database,
        TableInput={"Name": name, "StorageDescriptor": place, "TableType": "EXTERNAL_TABLE"} | more,
    )


@pytest.fixture
def glue(aws: Aws) -> Any:
    """Return a catalog: a manual table, two of a finished crawler, and one in another database."""
    glue = aws("glue")
    for database in ("lake", "other"):
        glue.create_database(DatabaseInput={"Name": database})
    about: dict[str, Any] = {
        "Description": "All rides",
        "Owner": "taxi",
        "Parameters": {"table_type": "ICEBERG"},
    }
    _table(glue, "rides", PartitionKeys=[{"Name": "month", "Type": "string"}], **about)
    for name in ("zones", "weather"):
        _table(glue, name, Parameters={"UPDATED_BY_CRAWLER": "nightly", "classification": "csv"})
    _table(glue, "elsewhere", "other")
    targets = {"S3Targets": [{"Path": "s3://raw/"}], "JdbcTargets": [{"Path": "shop/%"}]}
    glue.create_crawler(
        Name="nightly", Role="r", DatabaseName="lake", Targets=targets, Description="d"
    )
    glue.start_crawler(Name="nightly")
    return glue


def _ended(glue: Any) -> str:
    """Let moto's crawl end: its state advances with each request."""
    for _ in range(20):
        (crawl,) = glue.list_crawls(CrawlerName="nightly")["Crawls"]
        if crawl["State"] == "COMPLETED":
            return str(crawl["CrawlId"])
    raise AssertionError(crawl)


def _datasets(events: list[dict[str, Any]]) -> dict[str, Any]:
    return {event["dataset"]["name"]: event["dataset"] for event in events if "dataset" in event}


def test_table_is_described_and_joined_with_its_location(
    glue: Any, harvest: Harvest, harvested: Harvested
) -> None:
    harvest("glue-tables", "lake", "--yes")
    found = _datasets(harvested())
    assert set(found) == {"table/lake/rides", "table/lake/zones", "table/lake/weather"}
    rides = found["table/lake/rides"]
    assert rides["namespace"] == _CATALOG
    fields = [(field["name"], field["type"]) for field in rides["facets"]["schema"]["fields"]]
    assert fields == [("id", "bigint"), ("at", "date"), ("month", "string")]
    assert rides["facets"]["schema"]["fields"][0]["description"] == "of a ride"
    (link,) = rides["facets"]["symlinks"]["identifiers"]
    assert link == {"namespace": "s3://raw", "name": "rides", "type": "LOCATION"}
    assert rides["facets"]["storage"]["fileFormat"] == "iceberg"
    assert rides["facets"]["documentation"]["description"] == "All rides"
    assert rides["facets"]["ownership"]["owners"][0]["name"] == "taxi"


def test_crawler_table_has_its_own_location_as_input(
    glue: Any, harvest: Harvest, harvested: Harvested
) -> None:
    _ended(glue)
    output = harvest("glue-tables", "--yes")
    assert "rejected 1\n" in output.out
    assert "crawler nightly (JdbcTargets): unsupported target 'shop/%'" in output.err
    events = [event for event in harvested() if "run" in event]
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"] * 3
    edges = {
        (event["inputs"][0]["name"], event["job"]["name"], event["outputs"][0]["name"])
        for event in events
        if event["inputs"]
    }
    assert edges == {
        (name, f"crawler/nightly.lake.{name}", f"table/lake/{name}")
        for name in ("zones", "weather")
    }
    above = next(event for event in events if event["job"]["name"] == "crawler/nightly")
    loads = [event["run"] for event in events if event["inputs"]]
    parents = {run["facets"]["parent"]["run"]["runId"] for run in loads}
    assert parents == {above["run"]["runId"]}
    assert "symlinks" not in _datasets(harvested())["table/lake/zones"]["facets"]


def test_unchanged_tables_are_not_imported_again(
    glue: Any, harvest: Harvest, harvested: Harvested
) -> None:
    _ended(glue)
    assert "new 10," in harvest("glue-tables", "--yes").out
    assert "new 0," in harvest("glue-tables", "--yes").out
    assert "stored 0, duplicates 10" in harvest("glue-tables", "--yes", "--from-start").out
    columns = {"Columns": [{"Name": "id", "Type": "string"}], "Location": "s3://raw/rides"}
    glue.update_table(
        DatabaseName="lake", TableInput={"Name": "rides", "StorageDescriptor": columns}
    )
    assert "new 1," in harvest("glue-tables", "--yes").out
    assert len(harvested()) == 11


@pytest.mark.parametrize(("operation", "nth"), [("GetTables", 2), ("GetCrawlers", 1)])
def test_interrupted_glue_harvest_continues_to_the_end(
    glue: Any, harvest: Harvest, harvested: Harvested, kill_at: Any, operation: str, nth: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    # All of it is of this minute: were the cursor moved too early, this would skip the rest.
    monkeypatch.setattr("headwater_aws.harvest.glue.OVERLAP", -timedelta(hours=1))
    _ended(glue)
    killed = kill_at(operation, nth)
    with pytest.raises(killed):
        harvest("glue-tables", "--yes")
    before = len(harvested())
    assert f"new {10 - before}," in harvest("glue-tables", "--yes").out
    assert before > 0
    harvest("glue-tables", "--yes", database="once.db")
    assert sorted(map(str, harvested())) == sorted(map(str, harvested("once.db")))


def test_resource_link_is_joined_with_its_target(
    aws: Aws, harvest: Harvest, harvested: Harvested
) -> None:
    glue = aws("glue")
    glue.create_database(DatabaseInput={"Name": "mine"})
    target = {"CatalogId": "999988887777", "DatabaseName": "theirs", "Name": "rides"}
    glue.create_table(DatabaseName="mine", TableInput={"Name": "link", "TargetTable": target})
    harvest("glue-tables", "--yes")
    (link,) = _datasets(harvested())["table/mine/link"]["facets"]["symlinks"]["identifiers"]
    assert link["namespace"] == "arn:aws:glue:us-east-1:999988887777"
    assert link["name"] == "table/theirs/rides"


def test_missing_database_is_named(aws: Aws, harvest: Harvest) -> None:
    output = harvest("glue-tables", "nothing", "--dry-run", code=2)
    assert "the Glue catalog: EntityNotFoundException" in output.err
