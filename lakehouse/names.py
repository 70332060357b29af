"""Names of tables and files in Spark, PyIceberg, Airflow and OpenLineage.

All names of a table are derived from one `Table`, so that it is one node in the lineage graph
(docs/decisions/0001-table-names.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from lakehouse.settings import Settings

CATALOG = "lakehouse"
"""Name of the Iceberg catalog. PyIceberg and Spark share tables only under the same name."""

DATABASE = "nyc_taxi"

LOCAL_NAMESPACE = f"hive://{CATALOG}"
"""OpenLineage namespace of local tables. Spark's listener uses only this form for tables of a JDBC
catalog; there is no Hive metastore (docs/decisions/0001-table-names.md)."""


@dataclass(frozen=True)
class DatasetName:
    """Namespace and name of an OpenLineage dataset."""

    namespace: str
    name: str


@dataclass(frozen=True)
class Table:
    """An Iceberg table of the lakehouse, by its short name, such as ``yellow_taxi_raw``."""

    name: str

    @property
    def identifier(self) -> str:
        """The identifier in PyIceberg."""
        return f"{DATABASE}.{self.name}"

    @property
    def spark(self) -> str:
        """The identifier in Spark SQL."""
        return f"{CATALOG}.{DATABASE}.{self.name}"

    @property
    def asset_uri(self) -> str:
        """The URI of the Airflow asset. Airflow rejects OpenLineage's form of it."""
        return f"iceberg://{CATALOG}/{DATABASE}/{self.name}"

    def dataset(self, settings: Settings) -> DatasetName:
        """Return the table's name in OpenLineage.

        On AWS, it follows OpenLineage's naming rules for Glue; locally, Spark's listener.
        """
        if settings.lakehouse == "glue":
            arn = f"arn:aws:glue:{settings.aws_region}:{settings.aws_account}"
            return DatasetName(arn, f"table/{DATABASE}/{self.name}")
        return DatasetName(LOCAL_NAMESPACE, self.identifier)


def file_dataset(url: str) -> DatasetName:
    """Return a file's name in OpenLineage from its URL or absolute path.

    The namespace is `file` for a local path, and scheme and host for a URL:
    https://github.com/OpenLineage/OpenLineage/blob/main/spec/Naming.md
    """
    parts = urlsplit(url)
    if parts.scheme in ("", "file"):
        return DatasetName("file", unquote(parts.path))
    host = parts.netloc.rpartition("@")[2]  # without a user and password
    return DatasetName(f"{parts.scheme}://{host}", parts.path.lstrip("/"))
