"""Links from Airflow's UI to lineage and back, in a browser."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, FrameLocator, Locator, Page, expect

from commands.airflow_api import Airflow
from commands.environment import (
    AIRFLOW_PASSWORD,
    AIRFLOW_USER,
    child_environ,
    script,
    write_airflow_password,
)
from commands.page import ensure_page
from commands.processes import Service
from commands.services import TAXI_DAG, lineage_ready, start_headwater
from lakehouse.settings import load_settings
from tests.looking import open_address
from tests.pipeline.conftest import free_ports

pytestmark = [pytest.mark.airflow, pytest.mark.server, pytest.mark.browser]

TASK = "download"
Json = dict[str, Any]


@dataclass
class Linked:
    """Airflow's UI and the lineage server, which has received one run."""

    airflow: str
    lineage: str
    run: str

    @property
    def run_page(self) -> str:
        """Return the URL of the run in Airflow's UI."""
        return f"{self.airflow}/dags/{TAXI_DAG}/runs/{quote(self.run, safe='')}"


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    """Start Airflow without a scheduler, so that a run stays queued, and report its start."""
    ensure_page()
    port = free_ports(2)
    state = tmp_path_factory.mktemp("links")
    settings = load_settings(state_dir=state, airflow_port=port, headwater_port=port + 1)
    write_airflow_password(settings)
    environ = child_environ(settings)
    for command in (["db", "migrate"], ["dags", "reserialize"]):
        subprocess.run([script("airflow"), *command], env=environ, check=True, capture_output=True)
    server = [[script("airflow"), "api-server"]]
    services = [
        start_headwater(settings),
        Service("Airflow", server, environ, state / "logs" / "airflow.log"),
    ]
    try:
        url = f"http://localhost:{port}"
        services[0].wait_until(lambda: lineage_ready(settings), 60)
        services[1].wait_until(lambda: _answers(f"{url}/api/v2/version"), 120)
        airflow = Airflow(url, services[1].check)
        airflow.unpause(TAXI_DAG)
        linked = Linked(url, settings.headwater_url, airflow.trigger(TAXI_DAG, {}))
        events = _events(settings.job_namespace, linked)
        answer = httpx.post(f"{linked.lineage}/api/v1/lineage/batch", json=events)
        answer.raise_for_status()
        yield linked
    finally:
        for service in services:
            service.stop()


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.HTTPError:
        return False


def _events(namespace: str, linked: Linked) -> list[Json]:
    """Return the events of Airflow's provider for a run and its first task, which wrote a file."""
    dag, task = str(uuid.uuid4()), str(uuid.uuid4())
    dag_run = {"dagRun": {"dag_id": TAXI_DAG, "run_id": linked.run}}
    log = {"log_url": f"{linked.run_page}/tasks/{TASK}?try_number=1"}
    parent = {"run": {"runId": dag}, "job": {"namespace": namespace, "name": TAXI_DAG}}
    facets = {"airflow": {**dag_run, "taskInstance": log}, "parent": parent}
    outputs = [{"namespace": "file", "name": "/landing/yellow_tripdata_2025-04.parquet"}]
    return [
        _event("START", dag, namespace, TAXI_DAG, {"airflowDagRun": dag_run}, []),
        _event("COMPLETE", task, namespace, f"{TAXI_DAG}.{TASK}", facets, outputs),
    ]


def _event(
    type_: str, run: str, namespace: str, job: str, facets: Json, outputs: list[Json]
) -> Json:
    return {
        "eventType": type_,
        "eventTime": datetime.now(UTC).isoformat(),
        "producer": "https://github.com/apache/airflow",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": facets},
        "job": {"namespace": namespace, "name": job},
        "outputs": outputs,
    }


@pytest.fixture(scope="module")
def airflow_page(browser: Browser, linked: Linked) -> Iterator[Page]:
    """Return Airflow's UI after login."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(30_000)
    open_address(page, linked.airflow)
    page.locator("input[name=username]").fill(AIRFLOW_USER)
    page.locator("input[name=password]").fill(AIRFLOW_PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Lineage")).to_be_visible(timeout=30_000)
    yield page
    context.close()


def _link(page: Page, view: str) -> Locator:
    """Return the link to a view of the plugin; all links have the same text."""
    return page.locator(f'a[href$="/plugin/lineage-{view}"]')


def _lineage(page: Page, view: str) -> FrameLocator:
    _link(page, view).click()
    return page.frame_locator("iframe[title=Lineage]")


def test_navigation_link_opens_the_start_page(airflow_page: Page) -> None:
    expect(_lineage(airflow_page, "nav").get_by_text("Newest runs")).to_be_visible()


@pytest.mark.parametrize(
    ("view", "place"),
    [
        ("dag", "/dags/{dag}"),
        ("task", "/dags/{dag}/tasks/{task}"),
        ("dag-run", "{run}"),
        ("task-instance", "{run}/tasks/{task}"),
    ],
)
def test_airflow_pages_show_the_lineage_of_their_object(
    view: str, place: str, airflow_page: Page, linked: Linked
) -> None:
    run = linked.run_page.removeprefix(linked.airflow)
    path = place.format(dag=TAXI_DAG, task=TASK, run=run)
    open_address(airflow_page, linked.airflow + path)
    frame = _lineage(airflow_page, view)
    expect(frame.locator(f'[data-node="job:nyc_taxi:{TAXI_DAG}.{TASK}"]')).to_be_visible()
    details = frame.get_by_role("complementary", name="Details")
    if "run" in place:
        expect(details.get_by_text(linked.run, exact=True)).to_be_visible()
        expect(details.get_by_role("button", name="Copy the address")).to_be_visible()


@pytest.mark.parametrize(
    ("job", "title", "view"),
    [(TAXI_DAG, "DAG run", "dag-run"), (f"{TAXI_DAG}.{TASK}", "Task", "task-instance")],
)
def test_lineage_run_links_to_its_airflow_page(
    job: str, title: str, view: str, airflow_page: Page, linked: Linked
) -> None:
    open_address(
        airflow_page, f"{linked.lineage}/run?job=job:nyc_taxi:{job}&id={quote(linked.run)}"
    )
    with airflow_page.context.expect_page() as opened:
        airflow_page.get_by_role("link", name=f"{title}").filter(has_text="in Airflow").click()
    page = opened.value
    expect(_link(page, view)).to_be_visible(timeout=30_000)
    expect(page.get_by_text(TAXI_DAG).first).to_be_visible()
    assert page.url.startswith(linked.run_page.partition("/runs/")[0])
    page.close()


def test_trigger_with_lost_response_starts_one_run(linked: Linked) -> None:
    airflow = Airflow(linked.airflow, wait=0.01)
    lost: list[httpx.Response] = []

    def lose_first_answer(response: httpx.Response) -> None:
        if response.request.url.path.endswith("/dagRuns") and not lost:
            lost.append(response)
            raise httpx.ReadTimeout("The answer is lost.")

    before = len(airflow.unfinished(TAXI_DAG))
    airflow._http.event_hooks["response"].append(lose_first_answer)
    airflow.unpause(TAXI_DAG)
    run = airflow.trigger(TAXI_DAG, {})
    assert [response.request.method for response in lost] == ["POST"]
    runs = [run["dag_run_id"] for run in airflow.unfinished(TAXI_DAG)]
    assert (runs.count(run), len(runs)) == (1, before + 1)
