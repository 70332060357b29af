"""Parameters of EMR Serverless jobs; test_end_to_end runs jobs with them."""

from __future__ import annotations

import json

import pytest

from infra.parts import EMR_SERVERLESS
from lakehouse.settings import Settings, load_settings
from spark_jobs.emr import RELEASE, configuration
from tests.infra.templates import load_template

SECRET = "not to be told"


@pytest.fixture
def emr_settings() -> Settings:
    return load_settings(
        spark="emr-serverless",
        lakehouse="glue",
        bucket="my-bucket",
        aws_account="123456789012",
        emr_application_id="app",
        emr_role_arn="arn:aws:iam::123456789012:role/jobs",
        emr_prefix="/code/",
        emr_lineage_url="https://lineage.example",
        lineage_url_api_key=SECRET,
        datahub_token=SECRET,
        spark_master="spark://mine:7077",
        job_namespace="rides",
    )


def _properties(settings: Settings) -> dict[str, str]:
    (defaults,) = configuration(settings)["applicationConfiguration"]
    assert len(defaults["properties"]) <= 100  # EMR's maximum
    return defaults["properties"]


def test_emr_driver_resolves_its_settings(
    emr_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = "spark.emr-serverless.driverEnv."
    for name, value in _properties(emr_settings).items():
        if name.startswith(at):
            monkeypatch.setenv(name.removeprefix(at), value)
    driver = load_settings()
    same = ("lakehouse", "bucket", "aws_account", "job_namespace")
    assert [getattr(driver, n) for n in same] == [getattr(emr_settings, n) for n in same]
    assert driver.spark == "local"  # the driver starts no EMR jobs
    assert driver.spark_master == Settings.model_fields["spark_master"].default
    assert driver.lineage_backend == "https://lineage.example"
    assert driver.lineage_delivery == "direct"


def test_job_parameters_contain_no_secret_values(emr_settings: Settings) -> None:
    assert SECRET not in json.dumps(configuration(emr_settings))
    with_secret = emr_settings.model_copy(update={"emr_lineage_secret": "arn:of:it"})
    assert SECRET not in json.dumps(configuration(with_secret))
    key = "spark.emr-serverless.driverEnv.LINEAGE_URL_API_KEY"
    assert _properties(with_secret)[key] == "EMR.secret@arn:of:it"
    assert key not in _properties(emr_settings)


def test_job_uses_the_code_location_of_emr_package(emr_settings: Settings) -> None:
    properties = _properties(emr_settings)
    urls = [properties["spark.archives"], *properties["spark.jars"].split(",")]
    assert all(url.startswith("s3://my-bucket/code/") for url in urls)


def test_application_release_matches_the_jars() -> None:
    template = load_template(EMR_SERVERLESS.template)
    assert template["Resources"]["Application"]["Properties"]["ReleaseLabel"] == RELEASE
