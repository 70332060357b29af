"""The project in Docker: image, containers and walkthrough on a real engine."""

from __future__ import annotations

import re
import time

import httpx
import pytest

from commands.docker import FOLDER, PROJECT
from lakehouse.catalog import open_catalog
from lakehouse.forecasts import FORECAST
from lakehouse.network import ca_bundle
from lakehouse.settings import REPOSITORY
from tests.containers.conftest import EVENT, USER_ID, Story, official_images
from tests.containers.engine import DEBIAN, Engine

pytestmark = pytest.mark.docker

UPSTREAM = (
    "TrainForecastModelFlow.write_forecasts_to_table",
    "TrainForecastModelFlow.train",
    "TrainForecastModelFlow.compute_actuals",
    "ingest_yellow_taxi_data.merge_upsert_staging_into_raw_yellow",
    "ingest_yellow_taxi_data.download",
)


def test_stack_has_three_containers_of_two_images(story: Story) -> None:
    assert story.containers == {
        "airflow": PROJECT,
        "headwater": PROJECT,
        "postgres": official_images()[1],
    }


def test_every_container_is_healthy_and_every_dag_loads(story: Story) -> None:
    assert story.health == dict.fromkeys(story.containers, "healthy")
    assert story.import_errors == []


def test_containers_run_as_the_owner_of_the_state_folder(story: Story) -> None:
    user, bundle = story.users.split()
    assert user == str(USER_ID)
    state = story.stack.settings.state_dir
    assert bundle == str(state / "ca-bundle.pem")
    assert (state / "jars").stat().st_uid == USER_ID


def test_upstream_of_forecasts_is_read_with_the_key(story: Story) -> None:
    assert (story.unauthorized, story.accepted) == (401, 201)
    for job in UPSTREAM:
        assert re.search(rf"{re.escape(job)}  COMPLETED", story.tree), story.tree


def test_stop_and_start_of_every_container_lose_nothing(story: Story) -> None:
    assert story.tree_after_restart == story.tree


def test_every_container_stops_before_it_is_killed(story: Story) -> None:
    killed = 128 + 9
    assert story.exit_codes.keys() == story.containers.keys()
    assert killed not in map(int, story.exit_codes.values()), story.exit_codes


def test_create_infra_creates_the_bucket_on_the_stand_in(story: Story) -> None:
    assert "bucket" in story.infra.lower()


def test_flow_on_the_host_trains_on_tables_of_the_containers(story: Story) -> None:
    assert "Done!" in story.flow
    assert story.tree_of_flow != story.tree
    assert all(job in story.tree_of_flow for job in UPSTREAM)
    forecasts = open_catalog(story.stack.settings).load_table(FORECAST.identifier)
    assert forecasts.location().startswith(str(story.stack.settings.state_dir))


def test_datahub_receives_lineage_of_containers_and_flow(story: Story) -> None:
    edges = story.datahub.edges()
    assert set(UPSTREAM) <= edges.keys()
    assert edges["TrainForecastModelFlow.compute_actuals"] == (
        {"yellow_taxi_raw"},
        {"yellow_rides_hourly_actuals"},
    )


def test_clean_up_removes_everything(story: Story) -> None:
    assert story.left == []


def test_server_image_is_small_and_serves_page_and_events(engine: Engine) -> None:
    base, bundle = "debian:bookworm-slim", ca_bundle()
    secret = ["--secret", f"id=ca-bundle,src={bundle.path}"] if bundle else []
    try:
        engine.docker("pull", "--quiet", base)
    except AssertionError:  # no registry is reachable
        engine.docker("tag", DEBIAN, base)
    file = str(FOLDER / "server" / "Dockerfile")
    engine.docker(
        "build", "--quiet", "--file", file, "--tag", "headwater", *secret, str(REPOSITORY)
    )
    sizes = [
        int(engine.docker("image", "inspect", name, "--format", "{{.Size}}"))
        for name in ("headwater", base)
    ]
    assert sizes[0] - sizes[1] <= 120_000_000  # the official base has 75 to 80 MB
    options = ["--detach", "--publish", "127.0.0.1::9002", "--env", "HEADWATER_API_KEY=key"]
    container = engine.docker("run", *options, "headwater").strip()
    try:
        address = engine.docker("port", container, "9002").strip()
        with httpx.Client(base_url=f"http://{address}", auth=("any", "key")) as client:
            _wait_for(client)
            assert client.post("/api/v1/lineage", json=EVENT).status_code == 201
            assert '<div id="root"' in client.get("/").text
            assert client.get("/", auth=None).status_code == 401
        engine.docker("exec", container, "headwater", "gate", "--help")
        started = time.monotonic()
        engine.docker("stop", container)
        assert time.monotonic() - started < 9  # it was not killed
    finally:
        engine.docker("rm", "--force", "--volumes", container)


def _wait_for(client: httpx.Client) -> None:
    for _ in range(600):
        try:
            if client.get("/healthz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)  # between two requests to a server that starts
    raise TimeoutError("the server in the container did not start")
