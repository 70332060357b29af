from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakehouse.catalog import STAGED
from lakehouse.errors import BadSourceFile, ChecksFailed
from lakehouse.generator import weather_csv
from lakehouse.ingest import Partition
from lakehouse.settings import Settings, load_settings
from lakehouse.sources import WEATHER
from spark_jobs import ingest, weather
from tests.spark.test_ingest_jobs import load, rows, snapshots

pytestmark = pytest.mark.spark


def weather_files(folder: Path, month: str, **changed: str) -> Partition:
    """Return a generated month as landed; `changed` replaces the text of an element's file."""
    files = WEATHER.files(load_settings(state_dir=folder), month)
    folder.mkdir(exist_ok=True)
    for file in files:
        text = changed.get(file.filename.split("-")[0], weather_csv(file))
        (folder / file.filename).write_text(text)
    paths = tuple(str(folder / file.filename) for file in files)
    return Partition(WEATHER.partition_of(month), paths, "hash")


def test_invalid_weather_is_rejected_and_the_last_load_stays(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    spec = weather.SPEC
    good = weather_files(tmp_path / "good", "2024-02")
    load(spark, lake, spec, good)
    staged, raw = (snapshots(lake, table.table) for table in (spec.staging, spec.raw))
    text = Path(good.paths[0]).read_text()
    january = Path(weather_files(tmp_path / "january", "2024-01").paths[0]).read_text()
    one_more = text + text.splitlines(keepends=True)[0].replace("30005", "30007")
    for number, (content, problem) in enumerate(
        {
            "<html>Sign in</html>": "line 1: received '<html>Sign in</html>'",
            "": "is empty",
            '{"error": 503}\n': "line 1: received 1 fields",
            text[: len(text) // 2]: "the file is truncated",
            january: "line 1: received month '01', expected '02'",
            text.replace(",", ";"): "line 1: received 1 fields",
            one_more: "has 6 counties and .* 5; only one of them has 30007",
        }.items()
    ):
        bad = weather_files(tmp_path / f"bad{number}", "2024-02", prcp=content)
        with pytest.raises(BadSourceFile, match=problem) as caught:
            ingest.stage(spark, lake, spec, [bad])
        assert bad.paths[0] in str(caught.value)
    with pytest.raises(BadSourceFile, match=r"is of 2024-02, but the partition is 202403-cty\.csv"):
        ingest.stage(spark, lake, spec, [replace(good, name="202403-cty.csv")])
    with pytest.raises(BadSourceFile, match="both contain prcp; remove one"):
        ingest.stage(spark, lake, spec, [replace(good, paths=good.paths[:1] * 2)])
    gone = str(tmp_path / "gone" / Path(good.paths[0]).name)
    with pytest.raises(BadSourceFile, match="Cannot read"):
        ingest.stage(spark, lake, spec, [replace(good, paths=(gone,))])
    assert (staged, raw) == tuple(
        snapshots(lake, table.table) for table in (spec.staging, spec.raw)
    )
    assert len(rows(lake, spec.raw.table, good.name)) == 5 * 29


def test_staged_weather_with_gaps_is_not_published(
    spark: SparkSession, lake: Settings, tmp_path: Path
) -> None:
    spec = weather.SPEC
    load(spark, lake, spec, weather_files(tmp_path / "before", "2024-03"))
    partition = weather_files(tmp_path, "2024-04")
    ingest.stage(spark, lake, spec, [partition])
    gaps = (
        spark.table(spec.staging.table.spark)
        .where("county_code <> '30061'")
        .where("NOT (county_code = '30085' AND day(date) BETWEEN 11 AND 29)")
        .withColumn("tavg", F.expr("if(day(date) <= 6, NULL, tavg)"))
        .withColumn("prcp", F.expr("if(day(date) = 8, 1999.99, round(prcp / 25.4, 2))"))
        .withColumn("date", F.expr("if(day(date) = 30, date'2024-05-01', date)"))
    )
    writer = gaps.writeTo(spec.staging.table.spark)
    sources = json.dumps({partition.name: partition.source_hash})
    writer.option(f"snapshot-property.{STAGED}", sources).overwrite(F.lit(True))
    with pytest.raises(ChecksFailed) as caught:
        ingest.check_staging(spark, lake, spec, [partition])
    for assertion in (
        "few_missing tavg: 24 of 101 rows",
        "in_month date: 4 of 101 rows",
        "expected_counties county_code: 1 of 101 rows",
        "row_per_county_and_day: 19 of 101 rows",
        "in_range prcp: 4 of 101 rows",
        "1999.99 mm on a day, but at most 27.09 in 202403-cty.csv",
    ):
        assert assertion in str(caught.value)
    assert rows(lake, spec.raw.table, partition.name) == []
