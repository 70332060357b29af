from __future__ import annotations

from lakehouse.names import DatasetName, Table, file_dataset
from lakehouse.settings import load_settings

RAW = Table("yellow_taxi_raw")


def test_table_provides_all_of_its_names() -> None:
    local = load_settings()
    glue = load_settings(
        lakehouse="glue", bucket="b", aws_account="123456789012", aws_region="eu-west-1"
    )
    assert RAW.identifier == "nyc_taxi.yellow_taxi_raw"
    assert RAW.spark == "lakehouse.nyc_taxi.yellow_taxi_raw"
    assert RAW.asset_uri == "iceberg://lakehouse/nyc_taxi/yellow_taxi_raw"
    assert RAW.dataset(local) == DatasetName("hive://lakehouse", "nyc_taxi.yellow_taxi_raw")
    assert RAW.dataset(glue) == DatasetName(
        "arn:aws:glue:eu-west-1:123456789012", "table/nyc_taxi/yellow_taxi_raw"
    )


def test_file_dataset_is_named_by_its_url() -> None:
    assert file_dataset("/data/a b.csv") == DatasetName("file", "/data/a b.csv")
    assert file_dataset("file:///data/a%20b.csv") == DatasetName("file", "/data/a b.csv")
    assert file_dataset("https://me:secret@d37.example/x").namespace == "https://d37.example"
    assert file_dataset("https://d37.example/trip-data/x.parquet") == DatasetName(
        "https://d37.example", "trip-data/x.parquet"
    )
