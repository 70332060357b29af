"""What things are called: one constructor a kind of name.

A table has one `Table`, from which Spark's identifier, PyIceberg's, Airflow's asset and
OpenLineage's dataset are all derived; that is what makes it one node in the lineage
(docs/decisions/0001-table-names.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from lakehouse.settings import Settings

CATALOG = "lakehouse"
"""Name of the Iceberg catalog. PyIceberg shares tables with Spark only under the same name."""

DATABASE = "nyc_taxi"

LOCAL_NAMESPACE = f"hive://{CATALOG}"
"""OpenLineage namespace of local tables: the only form that Spark's listener gives a JDBC
catalog's tables; no Hive metastore is involved (docs/decisions/0001-table-names.md)."""


@dataclass(frozen=True)
class DatasetName:
    """An OpenLineage dataset's namespace and name."""

    namespace: str
    name: str


@dataclass(frozen=True)
class Table:
    """An Iceberg table of the lakehouse, by its bare name, such as ``yellow_taxi_raw``."""

    name: str

    @property
    def identifier(self) -> str:
        """PyIceberg's identifier."""
        return f"{DATABASE}.{self.name}"

    @property
    def spark(self) -> str:
        """Spark SQL's identifier."""
        return f"{CATALOG}.{DATABASE}.{self.name}"

    @property
    def asset_uri(self) -> str:
        """Airflow's asset URI. Airflow refuses OpenLineage's own form of it."""
        return f"iceberg://{CATALOG}/{DATABASE}/{self.name}"

    def dataset(self, settings: Settings) -> DatasetName:
        """OpenLineage's name of the table.

        On AWS as OpenLineage's naming page has it for Glue; locally as Spark's listener does.
        """
        if settings.lakehouse == "glue":
            arn = f"arn:aws:glue:{settings.aws_region}:{settings.aws_account}"
            return DatasetName(arn, f"table/{DATABASE}/{self.name}")
        return DatasetName(LOCAL_NAMESPACE, self.identifier)


def file_dataset(url: str) -> DatasetName:
    """OpenLineage's name of a file, from its URL or absolute path.

    https://github.com/OpenLineage/OpenLineage/blob/main/spec/Naming.md: a local file is `file`
    plus its absolute path; for a web address the namespace is scheme and host.
    """
    parts = urlsplit(url)
    if parts.scheme in ("", "file"):
        return DatasetName("file", unquote(parts.path))
    host = parts.netloc.rpartition("@")[2]  # without a user and password
    return DatasetName(f"{parts.scheme}://{host}", parts.path.lstrip("/"))
