"""Every setting has the same effect from every source."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.environment import child_environ
from commands.old_names import report_old_names
from lakehouse.backends import deliveries, is_embedded, is_on, lineage_environ, spark_transport
from lakehouse.errors import SettingsError
from lakehouse.setting_sources import old_names
from lakehouse.settings import Settings, load_settings, sources

GLUE = {"bucket": "a-bucket", "aws_account": "012345678901"}
EMR = {**GLUE, "lakehouse": "glue", "emr_application_id": "app", "emr_role_arn": "role"}
NEEDED = {"lakehouse": GLUE, "spark": EMR}
"""Other settings that a value requires."""
VALUES = {
    "state_dir": "/somewhere/else",
    "data_source": "https://mirror.example/data",
    "taxi_base_url": "https://mirror.example/taxi",
    "weather_base_url": "file:///mirror/weather",
    "months_back": "7",
    "generator_rows": "5000",
    "generator_fault": "empty",
    "max_quarantined_share": "0.05",
    "accept_weather_months": "2026-05,2026-06",
    "forecast_model": "weather",
    "lakehouse": "glue",
    "aws_region": "eu-west-1",
    "aws_account": "012345678901",
    "aws_profile": "sandbox",
    "aws_endpoint_url": "http://localhost:4566",
    "bucket": "1234",
    "keep_snapshots_days": "0",
    "keep_model_inputs_days": "30",
    "spark": "emr-serverless",
    "emr_application_id": "00f1",
    "emr_role_arn": "arn:aws:iam::012345678901:role/emr",
    "emr_prefix": "no",
    "emr_lineage_url": "https://lineage.example",
    "emr_lineage_secret": "1e3",
    "spark_master": "local[1]",
    "spark_driver_memory": "3g",
    "spark_java_options": "-Xss4m -Dkey=value",
    "job_namespace": "2025-01-01",
    "lineage_backend": "datahub",
    "lineage_delivery": "direct",
    "datahub_url": "https://datahub.example",
    "datahub_token": "0123",
    "datazone_domain_id": "dzd_1",
    "marquez_url": "https://marquez.example",
    "marquez_api_key": "true",
    "openmetadata_url": "https://openmetadata.example",
    "openmetadata_token": "a: b",
    "lineage_url_api_key": "1_000",
    "lineage_url_endpoint": "lineage",
    "airflow_port": "9191",
    "headwater_port": "9292",
    "headwater_server_url": "http://headwater:9002",
    "headwater_api_key": "0x10",
}
"""A non-default value of each setting; YAML would not read all of them as text."""
QUOTED = ("openmetadata_token",)
"""Settings whose value must be quoted in YAML."""


@pytest.mark.parametrize("name", Settings.model_fields)
def test_argument_variable_and_file_give_the_same_settings(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(name.upper(), raising=False)  # a Spark session sets AWS_REGION
    needed = NEEDED.get(name, {})
    as_argument = load_settings(**{name: VALUES[name]}, **needed)
    assert getattr(as_argument, name) != getattr(load_settings(), name)
    with monkeypatch.context() as patch:
        patch.setenv(name.upper(), VALUES[name])
        as_variable = load_settings(**needed)
        assert _source(as_variable, name) == f"environment {name.upper()}"
    value = f'"{VALUES[name]}"' if name in QUOTED else VALUES[name]
    (tmp_path / "mine.yaml").write_text(f"{name}: {value}\n")
    monkeypatch.setenv("SETTINGS_FILE", str(tmp_path / "mine.yaml"))
    as_line = load_settings(**needed)
    assert _source(as_line, name) == "file mine.yaml"
    assert as_argument == as_variable == as_line
    assert as_argument.environ() == as_variable.environ() == as_line.environ()


@pytest.mark.parametrize("name", Settings.model_fields)
def test_child_process_resolves_the_same_setting(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = load_settings(**{name: VALUES[name]}, **NEEDED.get(name, {}))
    for variable, value in parent.environ().items():
        monkeypatch.setenv(variable, value)
    assert load_settings() == parent


@pytest.mark.spark  # `java -version`
def test_child_in_another_folder_finds_the_settings_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("months_back: 5\n")
    monkeypatch.setenv("SETTINGS_FILE", "mine.yaml")
    environ = child_environ(load_settings(state_dir=tmp_path))
    monkeypatch.chdir("/")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert load_settings().months_back == 5


def test_old_setting_name_is_used_unless_the_new_one_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SETTINGS_FILE", str(tmp_path / "mine.yaml"))
    (tmp_path / "mine.yaml").write_text("throughline_port: 9555\n")
    assert load_settings().headwater_port == 9555
    (tmp_path / "mine.yaml").write_text("headwater_port: 9556\nthroughline_port: 9555\n")
    assert load_settings().headwater_port == 9556
    assert old_names() == ["throughline_port"]


def test_run_uses_and_reports_old_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADWATER_API_KEY", "")  # undone at the end, as the function sets it
    monkeypatch.setenv("THROUGHLINE_API_KEY", "a-key")
    monkeypatch.setenv("SETTINGS_FILE", str(tmp_path / "mine.yaml"))
    (tmp_path / "mine.yaml").write_text("throughline_port: 9555\n")
    report_old_names()
    assert load_settings().headwater_api_key.get_secret_value() == "a-key"
    assert capsys.readouterr().err.splitlines() == [
        "throughline is now headwater: rename THROUGHLINE_API_KEY to HEADWATER_API_KEY",
        f"{tmp_path}/mine.yaml: rename throughline_port to headwater_port",
    ]


def test_old_lineage_database_is_used_until_a_new_one_exists(tmp_path: Path) -> None:
    settings = load_settings(state_dir=tmp_path)
    assert settings.lineage_database == tmp_path / "headwater.db"
    (tmp_path / "throughline.db").touch()
    assert settings.lineage_database == tmp_path / "throughline.db"
    (tmp_path / "headwater.db").touch()
    assert settings.lineage_database == tmp_path / "headwater.db"


def test_empty_value_is_none_from_any_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").write_text("airflow_port:\nmonths_back: ~\nbucket: ''\n")
    monkeypatch.setenv("SETTINGS_FILE", str(tmp_path / "mine.yaml"))
    monkeypatch.setenv("AWS_REGION", "")
    assert load_settings(lineage_backend="").environ().keys() == {"STATE_DIR", "HEADWATER_PORT"}


def test_openlineage_url_is_added_to_the_embedded_backend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "https://lineage.example/")
    monkeypatch.setenv("OPENLINEAGE_ENDPOINT", "in/lineage")
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "s3cret")
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "theirs")
    settings = load_settings()
    assert settings.job_namespace == "theirs"
    assert is_embedded(settings)
    (delivery,) = deliveries(settings)
    assert delivery["url"] == "https://lineage.example"
    assert (delivery["endpoint"], delivery["api_key_env"]) == ("in/lineage", "LINEAGE_URL_API_KEY")
    assert settings.lineage_url_api_key.get_secret_value() == "s3cret"
    rows = {row[0]: row[2] for row in sources(settings)}
    assert rows["lineage_backend"] == "environment OPENLINEAGE_URL"
    assert rows["lineage_url_endpoint"] == "environment OPENLINEAGE_ENDPOINT"
    assert rows["job_namespace"] == "environment OPENLINEAGE_NAMESPACE"


@pytest.mark.parametrize("source", ["argument", "environment", "file"])
def test_project_settings_override_openlineage_variables(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = {"lineage_backend": "https://ours.example", "job_namespace": "ours"}
    if source == "environment":
        for name, value in ours.items():
            monkeypatch.setenv(name.upper(), value)
    if source == "file":
        lines = [f"{name}: {value}" for name, value in ours.items()]
        (tmp_path / "mine.yaml").write_text("\n".join(lines))
        monkeypatch.setenv("SETTINGS_FILE", str(tmp_path / "mine.yaml"))
    monkeypatch.setenv("OPENLINEAGE_URL", "https://theirs.example/x/")
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "s3cret")
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "theirs")
    settings = load_settings(**(ours if source == "argument" else {}))
    assert (settings.lineage_backend, settings.job_namespace) == tuple(ours.values())
    assert settings.lineage_url_endpoint == "api/v1/lineage"
    assert not settings.lineage_url_api_key.get_secret_value()  # it belongs to another server


@pytest.mark.parametrize("value", ["true", " TRUE "])
def test_openlineage_disabled_overrides_every_setting(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_DISABLED", value)
    settings = load_settings(lineage_backend="datahub")
    assert not is_on(settings)
    assert not is_embedded(settings)
    assert deliveries(settings) == []
    assert lineage_environ(settings)["AIRFLOW__OPENLINEAGE__DISABLED"] == "True"
    assert _source(settings, "lineage_backend") == "environment OPENLINEAGE_DISABLED"


@pytest.mark.parametrize("value", ["", "1", "yes", "false"])
def test_only_true_disables_lineage(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_DISABLED", value)
    assert is_embedded(load_settings())


@pytest.mark.parametrize("url", ["localhost:5000", "ftp://host", "http://"])
def test_invalid_openlineage_url_is_rejected(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", url)
    with pytest.raises(SettingsError, match=f"OPENLINEAGE_URL is '{url}'"):
        load_settings()


def test_lineage_server_never_delivers_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9002")
    settings = load_settings()
    assert is_embedded(settings)
    assert deliveries(settings) == []
    assert "file" in spark_transport(settings, "x").values()


def test_none_cannot_be_combined_with_other_backends() -> None:
    with pytest.raises(SettingsError, match="`none` cannot be combined"):
        is_on(load_settings(lineage_backend="none,embedded"))


def _source(settings: Settings, name: str) -> str:
    return {row[0]: row[2] for row in sources(settings)}[name]
