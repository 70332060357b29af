"""The project in Docker: image, containers and walkthrough on a real engine."""

from __future__ import annotations

import re

import pytest

from commands.docker import PROJECT
from lakehouse.catalog import open_catalog
from lakehouse.forecasts import FORECAST
from tests.containers.conftest import USER_ID, Story, official_images

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
