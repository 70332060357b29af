"""Platforms, types and states are seen at a glance."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.looking import Look, axe_finds, details

from .conftest import Lineage
from .test_views import _at, _node

pytestmark = [pytest.mark.browser, pytest.mark.server]

_LAKE = "dataset:hive://lake:9083:nyc_taxi."
_FORECAST = f"/lineage?node={_LAKE}yellow_rides_hourly_forecast"


def _platforms(page: Page) -> set[str | None]:
    return {
        icon.get_attribute("data-platform")
        for icon in page.locator("[data-node] [data-platform]").all()
    }


def test_nodes_show_their_platform_and_type(look_at_demo: Look) -> None:
    page = look_at_demo(
        "/lineage?node=dataset:hive://lakehouse:nyc_taxi.yellow_rides_hourly_forecast"
    )
    expect(page.locator("[data-node]")).to_have_count(17)
    assert _platforms(page) == {
        "Airflow", "Metaflow", "Iceberg", "File", "Model", "Artifact",
    }  # fmt: skip
    expect(_node(page, "yellow_taxi_raw")).to_contain_text("Iceberg table")
    expect(_node(page, "TrainForecastModelFlow.train")).to_contain_text("Metaflow task")
    page.get_by_role("button", name="Query", exact=True).click()
    expect(page.locator('[data-node] [data-platform="Spark"]').first).to_be_visible()


def _written(namespace: str, name: str) -> dict[str, Any]:
    return {
        "eventType": "COMPLETE",
        "eventTime": datetime.now(UTC).isoformat(),
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(uuid.uuid4())},
        "job": {"namespace": "glance", "name": f"load_{name}"},
        "outputs": [{"namespace": namespace, "name": name}],
    }


@pytest.mark.parametrize(
    ("namespace", "platform"),
    [
        ("arn:aws:glue:eu-west-1:123456789012", "Glue"),
        ("redshift://warehouse.eu-west-1:5439", "Redshift"),
        ("kafka://broker:9092", "Kafka"),
        ("postgres://database:5432", "Postgres"),
        ("s3://bucket", "S3"),
    ],
)
def test_datasets_show_the_platform_of_their_namespace(
    namespace: str, platform: str, look: Look, lineage: Lineage
) -> None:
    name = f"{platform}_{uuid.uuid4().hex}".lower()
    lineage.take(_written(namespace, name))
    page = look(f"/search?text={name}")
    icon = page.get_by_role("list", name="Search results").locator(f'[data-platform="{platform}"]')
    expect(icon).to_have_count(1)
    page.get_by_role("link", name=re.compile(f"^{name}")).first.click()
    expect(page.locator(f'[data-node] [data-platform="{platform}"]')).to_have_count(1)


def test_search_runs_and_details_show_the_platform(look: Look) -> None:
    page = look("/")
    row = page.get_by_role("region", name="Newest runs").get_by_role("link")
    metaflow = row.filter(has_text="TrainForecastModelFlow").first
    expect(metaflow.locator('[data-platform="Metaflow"]')).to_be_visible()
    metaflow.click()
    expect(details(page).locator("p").first).to_have_text("Metaflow run")
    page.get_by_role("combobox").fill("merge_upsert_staging_into_raw_yellow")
    option = page.get_by_role("option").first
    expect(option.locator('[data-platform="Airflow"]')).to_be_visible()
    option.click()
    page.locator("[data-node][aria-current]").click()
    expect(details(page).locator("p").first).to_have_text("Airflow task")


_COLORS = """(node) => {
    const probe = document.createElement("i");
    document.body.append(probe);
    const [style, bad] = [getComputedStyle(node), getComputedStyle(probe)];
    probe.style.color = "var(--bad)";
    const found = { border: style.borderTopColor, fill: style.backgroundColor, bad: bad.color };
    probe.remove();
    return found;
}"""


def test_failed_nodes_have_outlines_and_are_blocks_when_zoomed_out(look: Look) -> None:
    page = look(_FORECAST)
    stage = page.locator(
        "[data-trouble=failed]:has([data-node])",
        has=page.locator('[data-node$="weather_data.stage"]'),
    )
    expect(stage).to_have_count(1)
    near = stage.evaluate(_COLORS)
    assert near["border"] == near["bad"] != near["fill"]
    expect(page.get_by_role("region", name="Pipeline ingest_weather_data")).to_contain_text(
        "Failed"
    )
    staged = page.locator(
        "[data-trouble=failed]", has=page.locator('[data-node$="weather_staging"]')
    )
    expect(staged).to_contain_text("Failed")  # with the job that writes it
    expect(staged).to_contain_text("written by a failed run")
    waiting = page.locator("[data-trouble=blocked]", has=page.locator('[data-node$="weather_raw"]'))
    expect(waiting).to_contain_text("Not rebuilt: stage failed")
    expect(page.locator("[data-trouble=check]:has([data-node])")).to_contain_text("Failed checks")
    checked = page.get_by_role("region", name="Pipeline ingest_yellow_taxi_data")
    expect(checked).to_be_visible()
    expect(checked).not_to_contain_text("Failed checks")  # its own newest run completed
    for _ in range(6):
        page.get_by_role("button", name="Zoom out").click()
    expect(page.locator("[data-far]")).to_have_count(1)
    far = stage.evaluate(_COLORS)
    assert far["fill"] == far["bad"]
    expect(stage.locator("[data-node] > :first-child")).to_be_hidden()
    label = page.get_by_role("region", name="Pipeline ingest_weather_data").get_by_role(
        "button", name="ingest_weather_data", exact=True
    )
    box = label.bounding_box()
    assert box is not None
    assert box["height"] >= 11, "its name can still be read"
    assert axe_finds(page) == []


def test_overview_shows_failed_nodes(look: Look) -> None:
    page = look(_FORECAST, width=1000, height=620)
    overview = page.get_by_role("img", name="Overview of the graph")
    expect(overview.locator("[data-trouble=failed]")).to_have_count(1)


_COVERED = """() => {
  const canvas = document.querySelector('.react-flow').getBoundingClientRect();
  const clicked = (x, y) =>
    document.elementFromPoint(x, y)?.closest('[data-node], .react-flow__panel');
  return [...document.querySelectorAll('[data-node]')].filter((node) => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    const x = [Math.max(left, canvas.left) + 8, Math.min(right, canvas.right) - 8];
    const y = [Math.max(top, canvas.top) + 8, Math.min(bottom, canvas.bottom) - 8];
    if (x[0] > x[1] || y[0] > y[1]) return false;
    return x.some((x) => y.some((y) => clicked(x, y)?.querySelector('[role=img]')));
  }).map((node) => node.dataset.node);
}"""


def test_overview_covers_no_node(look_at_demo: Look) -> None:
    raw = "dataset:hive://lakehouse:nyc_taxi.yellow_taxi_raw"
    page = look_at_demo(f"/lineage?node={raw}", width=1000, height=700)
    overview = page.get_by_role("img", name="Overview of the graph")
    expect(overview).to_be_visible()
    expect(_node(page, "yellow_taxi_raw")).to_be_in_viewport()
    page.wait_for_function(f"() => ({_COVERED})().length === 0")
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    page.wait_for_function(f"() => ({_COVERED})().length === 0")
    expect(overview).to_be_visible()


def test_late_jobs_and_stale_runs_are_marked(look: Look) -> None:
    page = look(_at("job:nyc_taxi:archive_landing_files", level="pipeline"))
    expect(page.locator("[data-trouble=late]:has([data-node])")).to_contain_text("Late")
    page = look(_at("job:nyc_taxi:refresh_dashboards", level="pipeline"))
    expect(page.locator("[data-trouble=stale]:has([data-node])")).to_have_count(1)


def _failed(run: str, job: str) -> dict[str, Any]:
    facet = {
        "_producer": "https://example.org/test",
        "_schemaURL": "https://openlineage.io/spec/facets/1-0-0/BaseFacet.json",
    }
    message = 'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: no rows'
    address = f"http://airflow.example:8080/dags/d/runs/r/tasks/{job}?try_number=1"
    return {
        **_written("glance", job),
        "eventType": "FAIL",
        "run": {
            "runId": run,
            "facets": {
                "errorMessage": {**facet, "message": message, "programmingLanguage": "python"},
                "airflow": {**facet, "taskInstance": {"log_url": address}},
            },
        },
        "job": {"namespace": "glance", "name": job},
    }


def test_failed_run_shows_its_error_line_and_log_link(look: Look, lineage: Lineage) -> None:
    run, job = str(uuid.uuid4()), f"failing_{uuid.uuid4().hex}"
    lineage.take(_failed(run, job))
    page = look(_at(f"job:glance:{job}", open=f"run:{run}"))
    error = details(page).get_by_role("region", name="Error")
    expect(error.locator("p")).to_have_text("ValueError: no rows")
    log = error.get_by_role("link", name="Open the log: Task instance in Airflow")
    expect(log).to_have_attribute("href", re.compile(r"^http://airflow\.example:8080/dags/d/"))
    expect(error.get_by_text("Traceback")).to_be_hidden()
    error.get_by_text("Full error").click()
    expect(error.get_by_text("Traceback")).to_be_visible()
    assert axe_finds(page) == []
