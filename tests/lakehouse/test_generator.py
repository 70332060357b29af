from __future__ import annotations

from datetime import date
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq
import pytest

from lakehouse.faults import FAULTS, Fault
from lakehouse.generator import daily_weather, generate, taxi_table, weather_csv
from lakehouse.settings import Settings
from lakehouse.sources import WEATHER, YELLOW, months_before


def test_same_month_always_has_the_same_rows() -> None:
    first = taxi_table("2025-05", 1_000)
    assert first.equals(taxi_table("2025-05", 1_000))
    assert not first.equals(taxi_table("2025-04", 1_000))
    assert first.num_rows == 1_000


def test_generated_trips_have_tlcs_schema(shared: Path) -> None:
    real = pq.read_schema(shared / "data/taxi/trip-data/yellow_tripdata_2019-03.parquet")
    schema = taxi_table("2025-05", 1_000).schema
    fields = [(field.name, field.type) for field in schema]
    assert fields[:-1] == [(field.name, field.type) for field in real]
    assert fields[-1][0] == "cbd_congestion_fee"


def test_generated_weather_has_noaas_layout(settings: Settings, shared: Path) -> None:
    real = (shared / "data/weather/averages/2023/tavg-202302-cty-scaled.csv").read_text()
    real_row = next(line for line in real.splitlines() if line.startswith("cty,30061"))
    file = next(f for f in WEATHER.files(settings, "2023-02") if f.filename.startswith("tavg"))
    made_row = next(line for line in weather_csv(file).splitlines() if "30061" in line)
    generated, expected = made_row.split(","), real_row.split(",")
    assert generated[:6] == expected[:6]
    assert len(generated) == len(expected) == 37
    assert generated[-3:] == ["  -999.99"] * 3  # February has 28 days
    assert [v.strip() for v in expected[-3:]] == ["-999.99"] * 3


def test_generated_files_have_the_sites_paths_and_are_written_once(settings: Settings) -> None:
    generate(settings, YELLOW, "2025-05")
    path = Path(unquote(urlsplit(YELLOW.files(settings, "2025-05")[0].url).path))
    before = path.stat().st_mtime_ns
    generate(settings, YELLOW, "2025-05")
    assert path.stat().st_mtime_ns == before
    assert [p.name for p in path.parent.iterdir()] == ["yellow_tripdata_2025-05.parquet"]


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_file_is_replaced_without_the_fault_setting(
    fault: Fault, settings: Settings
) -> None:
    path = Path(unquote(urlsplit(YELLOW.files(settings, "2025-05")[0].url).path))
    generate(settings, YELLOW, "2025-05")
    good = path.read_bytes()
    generate(settings.model_copy(update={"generator_fault": fault}), YELLOW, "2025-05")
    assert path.read_bytes() != good
    generate(settings, YELLOW, "2025-05")
    assert path.read_bytes() == good


@pytest.mark.parametrize("source", [YELLOW, WEATHER], ids=lambda s: s.name)
def test_month_is_published_after_two_months(settings: Settings, source) -> None:  # type: ignore[no-untyped-def]
    this_month = months_before(date.today(), 1)[0]
    generate(settings, source, this_month)
    assert not (settings.state_dir / "generated").exists()


def test_rain_increases_generated_rides() -> None:
    rain = daily_weather("30061", "2025-05")["prcp"]
    days = taxi_table("2025-05", 50_000).column("tpep_pickup_datetime").to_pandas().dt.day
    rides = days.value_counts().reindex(range(1, 32), fill_value=0).sort_index()
    assert rides[rain > 15].mean() > 1.2 * rides[rain < 1].mean()
