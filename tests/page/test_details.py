"""Details of datasets and jobs in reading order, and the timeline of a run."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.looking import Look, axe_finds, details

from .conftest import Lineage
from .test_trial import _made
from .test_views import _LAKE, ACTUALS, _at

pytestmark = [pytest.mark.browser, pytest.mark.server]

STAGING = f"{_LAKE}yellow_taxi_staging"


def _tops(page: Page, *parts: Locator) -> list[float]:
    """Return the vertical positions of parts of the details."""
    found = []
    for part in parts:
        expect(part.first).to_be_visible()
        found.append(part.first.evaluate("each => each.getBoundingClientRect().top"))
    return found


@pytest.mark.parametrize("width", [1440, 390])
def test_dataset_details_are_in_reading_order(width: int, look: Look) -> None:
    page = look(_at(STAGING, open=STAGING), width=width)
    panel = details(page)
    columns = panel.get_by_role("region", name="Columns")
    checks = panel.get_by_role("region", name="Checks")
    terms = [panel.get_by_text(term, exact=True)
             for term in ("Owners", "Last written", "Freshness", "Rows written")]  # fmt: skip
    commands = panel.get_by_text("On the command line")
    description = panel.locator("[role=tabpanel] > p")
    tops = _tops(page, description, *terms, columns, checks, commands)
    assert tops == sorted(tops)
    expect(panel.get_by_text("headwater tree")).to_be_hidden()
    expect(panel.get_by_text("./run lineage tree")).to_be_hidden()
    commands.click()
    expect(panel.get_by_text("./run lineage tree")).to_be_visible()
    assert axe_finds(page) == []


def test_owner_of_a_dataset_is_marked_as_inferred(look: Look) -> None:
    page = look(_at(ACTUALS, open=ACTUALS))
    owners = details(page).get_by_role("definition").nth(1)
    expect(owners).to_contain_text("forecasting")
    expect(owners).to_contain_text(re.compile("Inferred from .*, which writes this dataset"))
    owners.get_by_role("link").click()
    expect(details(page).get_by_role("definition").nth(1)).to_have_text("forecasting")


def test_freshness_shows_whether_a_dataset_is_late(look: Look, lineage: Lineage) -> None:
    page = look(_at(ACTUALS, open=ACTUALS))
    expect(details(page).get_by_text("on time, usually every 1 d")).to_be_visible()


def test_columns_have_descriptions_and_tags(look: Look, lineage: Lineage) -> None:
    field = {"name": "rider_email", "type": "varchar", "description": "Contact of the rider"}
    facets: dict[str, Any] = {
        "documentation": {"description": "One row per rider"},
        "schema": {"fields": [field, *({"name": f"c{n}", "type": "int"} for n in range(15))]},
        "tags": {"tags": [{"key": "pii", "value": "true", "field": "rider_email"}]},
    }
    lineage.take({
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:00Z",
        "producer": "https://example.org/test",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "0196f5a4-3c5e-7000-8000-00000000d001"},
        "job": {"namespace": "details", "name": "write_riders"},
        "outputs": [{"namespace": "details", "name": "riders", "facets": facets}],
    })  # fmt: skip
    page = look(_at("dataset:details:riders", open="dataset:details:riders"))
    panel = details(page)
    expect(panel.get_by_text("One row per rider")).to_be_visible()
    expect(panel.get_by_text("not reported", exact=True)).to_be_visible()
    columns = panel.get_by_role("region", name="Columns")
    first = columns.get_by_role("listitem").first
    for text in ("rider_email", "varchar", "Contact of the rider", "pii"):
        expect(first).to_contain_text(text)
    columns.get_by_role("link", name="All 16 columns").click()
    expect(panel.get_by_role("tab", name="Schema")).to_have_attribute("aria-selected", "true")


_FLOW = "job:nyc_taxi:TrainForecastModelFlow"
_IS_CLIPPED = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"


def _open_child_runs(page: Page) -> Locator:
    """Open the child runs of the newest run; return the rows of their timeline."""
    link = re.compile("^Timeline of the child runs of ")
    details(page).get_by_role("link", name=link).first.click()
    rows = details(page).get_by_role("tabpanel").get_by_role("link")
    expect(rows.first).to_be_visible()
    return rows


@pytest.mark.parametrize("width", [1440, 390])
def test_timeline_of_a_run_shows_names_in_full_and_durations(width: int, look: Look) -> None:
    page = look(_at(ACTUALS, open=_FLOW, tab="runs"), width=width)
    rows = _open_child_runs(page)
    expect(rows.first).to_contain_text("TrainForecastModelFlow")
    expect(rows.first).to_contain_text("14 min")
    names = rows.locator("> span:first-child > span:last-child")
    assert names.evaluate_all(_IS_CLIPPED) == []
    for row in rows.all():
        expect(row).to_contain_text(re.compile(r"\d (ms|s|min)"))
        took = row.locator("[aria-hidden]").last.bounding_box()
        bar = row.locator("i").bounding_box()
        assert took is not None
        assert bar is not None
        assert took["y"] + took["height"] <= bar["y"]
        assert took["x"] + took["width"] <= width
    assert axe_finds(page) == []


def test_timeline_and_details_are_resizable(look: Look) -> None:
    page = look(_at(ACTUALS, open=_FLOW, tab="runs"))
    rows = _open_child_runs(page)
    bar = rows.first.locator("i")
    names = details(page).get_by_role("separator", name="Resize the names")
    panel = details(page).get_by_role("separator", name="Resize the details")

    def widths() -> tuple[float, float]:
        return tuple(
            part.evaluate("each => each.getBoundingClientRect().width")
            for part in (details(page), bar)
        )  # type: ignore[return-value]

    panel_width, bar_width = widths()
    names.press("ArrowRight")
    assert widths()[0] == panel_width
    assert widths()[1] < bar_width
    box = panel.bounding_box()
    assert box
    page.mouse.move(box["x"] + 4, 300)
    page.mouse.down()
    page.mouse.move(box["x"] - 196, 300)
    page.mouse.up()
    assert widths()[0] == panel_width + 200
    assert widths()[1] > bar_width
    page.reload()
    expect(bar).to_be_visible()
    assert widths()[0] == panel_width + 200


def test_details_grade_the_evidence_of_edges(look: Look, lineage: Lineage) -> None:
    event = _made("graded", ["shop.public.a", "shop.public.c"], ["shop.public.b"])
    for dataset in (*event["inputs"], *event["outputs"]):
        dataset["namespace"] = "postgres://graded:5432"
    query = "create table shop.public.b as select x as y from shop.public.a"
    dbt = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"
    event["job"]["facets"] = {
        "sql": {"query": query},
        "jobType": {"_producer": dbt, "integration": "DBT"},
    }
    lineage.take(event)
    page = look(_at("job:trial:graded", open="job:trial:graded"))
    edges = details(page).get_by_role("region", name="Evidence of edges").get_by_role("listitem")
    expect(edges).to_have_count(3)
    sources = r"inputs and outputs \(dbt 1\.54\.0\)"
    expect(edges.first).to_have_text(re.compile(f"^Contradicted ?from c{sources} · last seen"))
    verified = edges.filter(has=page.get_by_role("link", name="a", exact=True))
    expect(verified).to_have_text(re.compile(f"^Verified ?from a{sources}, SQL text"))
    drawn = page.locator(".react-flow__edge.data")
    for name, grade in (("a", "verified"), ("c", "contradicted")):
        edge = drawn.and_(page.locator(f'[data-id*="shop.public.{name} job:"]'))
        expect(edge).to_have_class(re.compile(f"grade-{grade}"))
    reported, verified_line = (
        page.locator(f".grade-{grade} .react-flow__edge-path").first
        for grade in ("contradicted", "verified")
    )
    assert reported.evaluate("each => getComputedStyle(each).strokeDasharray") != "none"
    assert verified_line.evaluate("each => getComputedStyle(each).strokeWidth") == "2.4px"
    page.get_by_role("button", name="Legend").click()
    expect(page.get_by_role("list", name="Legend")).to_contain_text("Verified by a second source")
    assert axe_finds(page) == []
