from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from lakehouse.errors import SettingsError
from lakehouse.settings import NOAA, TLC, Settings, load_settings, sources


def test_sources_of_settings_have_the_documented_precedence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("airflow_port: 1111\njob_namespace: from_file\nmonths_back: 7\n")
    monkeypatch.setenv("SETTINGS_FILE", str(file))
    monkeypatch.setenv("AIRFLOW_PORT", "2222")
    monkeypatch.setenv("JOB_NAMESPACE", "from_environment")
    settings = load_settings(airflow_port=3333)
    values = (settings.airflow_port, settings.job_namespace, settings.months_back)
    assert values == (3333, "from_environment", 7)
    assert settings.headwater_port == 9002


def test_settings_show_their_source_and_mask_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("datahub_token: t0p-secret\n")
    monkeypatch.setenv("SETTINGS_FILE", str(file))
    monkeypatch.setenv("AIRFLOW_PORT", "2222")
    settings = load_settings(months_back=9)
    rows = {name: (value, source) for name, value, source, _ in sources(settings)}
    assert set(rows) == set(Settings.model_fields)
    assert rows["airflow_port"] == ("2222", "environment AIRFLOW_PORT")
    assert rows["months_back"] == ("9", "argument")
    assert rows["spark_master"] == ("local[2]", "default")
    assert rows["datahub_token"] == ("**********", "file settings.yaml")
    assert "t0p-secret" not in repr(settings)


def test_child_process_gets_the_same_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = load_settings(state_dir=tmp_path, lineage_backend="console", datahub_token="key")
    for name, value in parent.environ().items():
        monkeypatch.setenv(name, value)
    child = load_settings()
    assert child == parent
    assert child.datahub_token.get_secret_value() == "key"


@pytest.mark.parametrize(
    ("values", "port"),
    [
        ({"lineage_backend": "embedded, datahub"}, 9003),
        ({"lineage_backend": "datahub", "headwater_port": 9100}, 9100),
        ({"lineage_backend": "datahub", "datahub_url": "https://datahub.example.com"}, 9002),
        ({"lineage_backend": "marquez"}, 9002),
    ],
)
def test_lineage_port_changes_for_a_local_datahub(
    values: dict[str, str], port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(**values)
    assert settings.headwater_port == port
    rows = {name: (value, source) for name, value, source, _ in sources(settings)}
    source = "argument" if "headwater_port" in values else "default"
    assert rows["headwater_port"] == (str(port), source)
    monkeypatch.setenv("HEADWATER_PORT", settings.environ()["HEADWATER_PORT"])
    assert load_settings().headwater_port == port


@pytest.mark.parametrize(
    ("name", "value"), [("AIRFLOW_PORT", "99999"), ("LAKEHOUSE", "swamp"), ("MONTHS_BACK", "x")]
)
def test_invalid_value_is_reported_with_the_received_value(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=rf"{name}.*received '{value}'"):
        load_settings()


@pytest.mark.parametrize("source", ["argument", "environment variable AIRFLOW_PORT", "file"])
def test_invalid_value_is_reported_with_its_source(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("airflow_port: 70000\n")
    monkeypatch.setenv("SETTINGS_FILE", str(file))
    if source != "file":
        monkeypatch.setenv("AIRFLOW_PORT", "80000")
    arguments = {"airflow_port": 90000} if source == "argument" else {}
    received = {"argument": "90000", "file": "'70000'"}.get(source, "'80000'")
    with pytest.raises(SettingsError) as caught:
        load_settings(**arguments)
    where = str(file) if source == "file" else source
    assert str(caught.value).startswith(f"AIRFLOW_PORT ({where}): ")
    assert str(caught.value).endswith(f"(received {received}).")


def test_unknown_name_in_the_file_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("airflow_prot: 9090\n")
    monkeypatch.setenv("SETTINGS_FILE", str(file))
    with pytest.raises(SettingsError, match="no setting airflow_prot, did you mean airflow_port"):
        load_settings()


def test_settings_cannot_be_changed(settings: Settings) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        settings.airflow_port = 1  # type: ignore[misc]


def test_data_source_determines_both_base_urls(tmp_path: Path) -> None:
    real = load_settings(data_source="real")
    assert (real.taxi_url, real.weather_url) == (TLC, NOAA)
    url = load_settings(data_source="https://mirror.example/x/")
    assert url.weather_url == "https://mirror.example/x/weather"
    path = load_settings(data_source=str(tmp_path))
    assert path.taxi_url == (tmp_path / "taxi").as_uri()
    own = load_settings(data_source="real", taxi_base_url="file:///mirror/")
    assert (own.taxi_url, own.weather_url) == ("file:///mirror", NOAA)


def test_glue_lakehouse_names_the_missing_settings() -> None:
    with pytest.raises(
        SettingsError, match="also requires BUCKET and AWS_ACCOUNT; `./run create-infra"
    ):
        load_settings(lakehouse="glue")


@pytest.mark.parametrize(
    "text",
    [
        "airflow_port: [",
        "just words",
        "datahub_tokn: s3cret",
        "[" * 20_000,
        "a: {" * 20_000,
        "a: &a [x]\nbucket: *a",
    ],
)
def test_invalid_file_is_named_without_repeating_secrets(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    monkeypatch.setenv("SETTINGS_FILE", str(file))
    with pytest.raises(SettingsError, match=r"mine\.yaml") as caught:
        load_settings()
    assert "s3cret" not in str(caught.value)


def test_password_in_a_url_is_masked() -> None:
    rows = sources(load_settings(lineage_backend="https://me:s3cret@host/x"))
    assert "s3cret" not in str(rows)


def test_missing_settings_file_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SETTINGS_FILE", "mistyped.yaml")
    with pytest.raises(SettingsError, match=r"SETTINGS_FILE is 'mistyped\.yaml'"):
        load_settings()


def test_services_need_different_ports() -> None:
    with pytest.raises(SettingsError, match="AIRFLOW_PORT and HEADWATER_PORT are both 9002"):
        load_settings(airflow_port=9002)


def test_relative_data_folder_is_resolved_for_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings(data_source="mirror").environ()["DATA_SOURCE"] == str(tmp_path / "mirror")
