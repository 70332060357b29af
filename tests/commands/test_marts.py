"""The marts of `./run demo --dbt`, built by dbt from a small table of the lakehouse."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import orjson
import pyarrow as pa
import pytest

from commands.marts import EXPOSURE, build_marts, ensure_dbt, require_marts
from headwater.log import EventLog, entry_of
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, load_queries
from lakehouse.catalog import open_catalog
from lakehouse.errors import SettingsError, SetupError
from lakehouse.names import DATABASE, Table
from lakehouse.settings import REPOSITORY, load_settings

_RIDES = Table("yellow_rides_hourly_actuals")


@pytest.mark.server
def test_marts_are_downstream_of_the_lakehouse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        ensure_dbt()
    except SetupError as error:
        pytest.skip(str(error))
    settings = load_settings(state_dir=tmp_path)
    catalog = open_catalog(settings)
    catalog.create_namespace(DATABASE)
    hours = [datetime(2025, 5, 1) + timedelta(hours=hour) for hour in range(30)]
    rows = pa.table({
        "datetime_hour": pa.array(hours, pa.timestamp("us")),
        "pulocationid": pa.array([132, 161] * 15, pa.int64()),
        "total_rides": pa.array(range(30), pa.int64()),
    })  # fmt: skip
    catalog.create_table(_RIDES.identifier, rows.schema).append(rows)
    written = {
        "eventType": "COMPLETE",
        "eventTime": "2026-11-20T09:00:00Z",
        "producer": "https://example.org",
        "run": {"runId": "01a1fd3d-1a97-7b7f-8cb0-753b3dcc6260"},
        "job": {"namespace": "nyc_taxi", "name": "TrainForecastModelFlow.compute_actuals"},
        "outputs": [{"namespace": "hive://lakehouse", "name": _RIDES.identifier}],
    }
    database = f"sqlite:///{tmp_path / 'log.db'}"
    log = EventLog(database)
    Live(log).ingest(Batch([entry_of(orjson.dumps(written))]))
    log.close()
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # dbt would compile its modules
    monkeypatch.setenv("HEADWATER_HARVESTS", str(tmp_path / "harvests"))

    build_marts(settings, "yellow", ("--database", database))

    live = Live(EventLog(database))
    rows_ = ask(live, load_queries()["edges"], {"limit": 100})["items"]
    short = {"marts.main.": "", "nyc_taxi_marts.": ""}
    edges = {
        f"{_without(row['job']['name'], short)} {row['direction']} "
        + _without(row["dataset"]["name"], short)
        for row in rows_
        if not row["job"]["name"].endswith((".test", "all_rides"))
    }
    assert edges == {
        f"TrainForecastModelFlow.compute_actuals writes {_RIDES.identifier}",
        f"stg_hourly_rides reads {_RIDES.identifier}",
        "stg_hourly_rides writes stg_hourly_rides",
        "daily_rides reads stg_hourly_rides",
        "daily_rides writes daily_rides",
        "busiest_hours reads stg_hourly_rides",
        "busiest_hours writes busiest_hours",
        "exposure.daily_report reads daily_rides",
        "exposure.daily_report reads busiest_hours",
    }
    path = {"from_": "TrainForecastModelFlow.compute_actuals", "to": EXPOSURE}
    assert len(ask(live, load_queries()["path"], path)["path"]) == 7
    health = ask(live, load_queries()["health"], {})
    assert health["isHealthy"]
    live.log.close()


def _without(text: str, parts: dict[str, str]) -> str:
    for part, other in parts.items():
        text = text.replace(part, other)
    return text


def test_marts_need_local_tables_and_the_lineage_server(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="LINEAGE_BACKEND=none"):
        require_marts(load_settings(state_dir=tmp_path, lineage_backend="none"))
    assert not (REPOSITORY / "dbt_marts" / "target").exists()
