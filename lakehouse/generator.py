"""Generate files with TLC's and NOAA's exact schemas, for use without a network or a mirror.

Each month has its own seed, so the same month always has the same bytes. Rides depend on the
hour, the weekday, the zone and the weather of the zone's county. Rain increases the number of
rides, so a model that uses the weather can be more accurate.
"""

from __future__ import annotations

import calendar
import hashlib
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from lakehouse.faults import FAULTS
from lakehouse.settings import Settings
from lakehouse.sources import WEATHER, Source, SourceFile, months_before
from lakehouse.weather_file import CITY_COUNTIES

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

ZONES = 263
PUBLISHED_AFTER_MONTHS = 2
HOUR_WEIGHTS = (3, 2, 1.5, 1, 1, 1.5, 3, 5, 6, 5.5, 5, 5) + (5.5, 5.5, 6, 6, 6, 7, 8) + (
    7.5, 7, 6.5, 6, 4.5
)  # fmt: skip


def generate(settings: Settings, source: Source, month: str) -> None:
    """Write the month's files to the paths of `Source.files`, unless they exist.

    Like TLC, the generator "publishes" a month about two months after its end.
    """
    if month > months_before(date.today(), PUBLISHED_AFTER_MONTHS + 1)[0]:
        return
    for file in source.files(settings, month):
        path = Path(unquote(urlsplit(file.url).path))
        spoilt = path.with_name(path.name + ".spoilt")
        if path.exists() and not spoilt.exists() and not settings.generator_fault:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        spoilt.unlink(missing_ok=True)
        if source is WEATHER:
            part.write_text(weather_csv(file))
        else:
            import pyarrow.parquet as pq

            trips = taxi_table(month, settings.generator_rows, source.name)
            pq.write_table(trips, part, compression="zstd")
            if settings.generator_fault:
                FAULTS[settings.generator_fault](part)
                spoilt.touch()  # generated again when requested without the fault
        part.replace(path)


def _random(*seed: str) -> np.random.Generator:
    import numpy as np

    digest = hashlib.sha256("/".join(seed).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def daily_weather(county: str, month: str) -> dict[str, np.ndarray[Any, Any]]:
    """Return prcp (mm), tavg, tmin and tmax (degrees Celsius), one value per day of the month."""
    import numpy as np

    year, number = int(month[:4]), int(month[5:])
    days = calendar.monthrange(year, number)[1]
    city = _random("weather", month)  # shared by the counties, with small differences
    own = _random("weather", month, county)
    season = 12.5 - 12 * np.cos((number - 1.5 + np.arange(days) / 30) / 12 * 2 * np.pi)
    tavg = season + city.normal(0, 3, days) + own.normal(0, 0.4, days)
    wet = city.random(days) < 0.33
    prcp = np.where(wet, city.gamma(1.1, 9, days) * own.uniform(0.8, 1.2, days), 0.0)
    spread = city.uniform(3, 6, days)
    return {"prcp": prcp, "tavg": tavg, "tmin": tavg - spread, "tmax": tavg + spread}


def weather_csv(file: SourceFile) -> str:
    """Return a file of nClimGrid daily county averages: no header, 31 days, -999.99 if missing."""
    element = file.filename.split("-")[0]
    year, number = file.month[:4], file.month[5:]
    lines = []
    for code, name in CITY_COUNTIES.items():
        values = [f"{v:9.2f}" for v in daily_weather(code, file.month)[element]]
        values += ["  -999.99"] * (31 - len(values))
        head = ["cty", code, name, year, number, element.upper()]
        lines.append(",".join(head + values))
    return "\n".join(lines) + "\n"


def taxi_table(month: str, rows: int, service: str = "yellow") -> pa.Table:
    """Return a month of trips with TLC's columns and types of 2025."""
    import numpy as np
    import pyarrow as pa

    rng = _random(service, month, str(rows))
    start = np.datetime64(f"{month}-01", "us")
    hours = calendar.monthrange(int(month[:4]), int(month[5:]))[1] * 24
    zone = 1 + rng.choice(ZONES, rows, p=_zone_weights())
    hour = rng.choice(hours, rows, p=_hour_weights(month, hours))
    pickup = start + (hour * 3_600_000_000 + rng.integers(0, 3_600_000_000, rows)).astype("m8[us]")
    miles = np.round(rng.gamma(1.6, 2.0, rows), 2)
    minutes = 3 + miles * rng.uniform(3, 6, rows)
    fare = np.round(3 + 2.8 * miles + 0.3 * minutes, 2)
    tip = np.round(fare * rng.choice([0, 0.15, 0.2, 0.25], rows), 2)
    constant = {"extra": 1.0, "mta_tax": 0.5, "tolls_amount": 0.0, "improvement_surcharge": 1.0}
    congestion = np.where(zone % 4 == 0, 0.0, 2.5)
    cbd = np.where(zone % 4 == 0, 0.0, 0.75)
    total = np.round(fare + tip + sum(constant.values()) + congestion + cbd, 2)
    ids, counts, money, time = pa.int32(), pa.int64(), pa.float64(), pa.timestamp("us")
    columns: dict[str, tuple[Any, pa.DataType]] = {
        "VendorID": (rng.integers(1, 3, rows), ids),
        "tpep_pickup_datetime": (pickup, time),
        "tpep_dropoff_datetime": (pickup + (minutes * 60e6).astype("m8[us]"), time),
        "passenger_count": (rng.choice([1, 1, 1, 2, 3, 4], rows), counts),
        "trip_distance": (miles, money),
        "RatecodeID": (np.ones(rows, "i8"), counts),
        "store_and_fwd_flag": (rng.choice(["N", "N", "N", "Y"], rows), pa.large_string()),
        "PULocationID": (zone, ids),
        "DOLocationID": (1 + rng.choice(ZONES, rows, p=_zone_weights()), ids),
        "payment_type": (rng.integers(1, 3, rows), counts),
        "fare_amount": (fare, money),
        "extra": (np.full(rows, constant["extra"]), money),
        "mta_tax": (np.full(rows, constant["mta_tax"]), money),
        "tip_amount": (tip, money),
        "tolls_amount": (np.zeros(rows), money),
        "improvement_surcharge": (np.full(rows, constant["improvement_surcharge"]), money),
        "total_amount": (total, money),
        "congestion_surcharge": (congestion, money),
        "Airport_fee": (np.where(zone == 132, 1.75, 0.0), money),
        "cbd_congestion_fee": (cbd, money),
    }
    if service == "green":
        columns = _as_green(columns, rng.integers(1, 3, rows))
    return pa.table({n: pa.array(v, type=t) for n, (v, t) in columns.items()})


def _as_green(columns: dict[str, Any], trip_type: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return the trips with the columns, order and types of green taxis."""
    import pyarrow as pa

    money = pa.float64()
    columns = {name.replace("tpep_", "lpep_"): column for name, column in columns.items()}
    columns |= {"ehail_fee": ([None] * len(trip_type), money), "trip_type": (trip_type, money)}
    for name in ("passenger_count", "RatecodeID", "payment_type"):
        columns[name] = (columns[name][0], money)
    order = "VendorID lpep_pickup_datetime lpep_dropoff_datetime store_and_fwd_flag RatecodeID "
    order += "PULocationID DOLocationID passenger_count trip_distance fare_amount extra mta_tax "
    order += "tip_amount tolls_amount ehail_fee improvement_surcharge total_amount payment_type "
    order += "trip_type congestion_surcharge cbd_congestion_fee"
    return {name: columns[name] for name in order.split()}


def _zone_weights() -> np.ndarray[Any, Any]:
    """Return each zone's share of the rides: a few zones have most, the same in every month."""
    import numpy as np

    weights = _random("zones").permutation(1 / np.arange(1, ZONES + 1) ** 1.1)
    return np.asarray(weights / weights.sum())


def _hour_weights(month: str, hours: int) -> np.ndarray[Any, Any]:
    """Return each hour's share of the month's rides; rain adds up to 60 %, frost 15 %."""
    import numpy as np

    weather = daily_weather("30061", month)
    factor = 1 + np.minimum(weather["prcp"] / 30, 0.6) + 0.15 * (weather["tavg"] < 0)
    weekday = (date.fromisoformat(f"{month}-01").weekday() + np.arange(hours) // 24) % 7
    weights = np.resize(HOUR_WEIGHTS, hours) * np.where(weekday >= 5, 0.85, 1.0)
    weights = weights * np.repeat(factor, 24)
    return np.asarray(weights / weights.sum())
