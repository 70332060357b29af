"""Canonical names of datasets."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_S3 = re.compile(r"s3[an]?://", re.IGNORECASE)
_FILE_NAMESPACE = re.compile(r"file(:/{0,3}|://localhost/?)?", re.IGNORECASE)
_FILE_NAME = re.compile(r"file:(//localhost(?=/)|//(?=/))?(?=/)", re.IGNORECASE)
_GLUE = re.compile(r"(?:arn:)?(aws[\w-]*:glue:[^:/]+:\d{12})/?")
_GLUE_TABLE = re.compile(r"table/([^/]+)/([^/]+)|([^/.]+)\.([^/.]+)")
_LOCATION = re.compile(r"(file$|s3://|gs://|hdfs:|abfss?:|wasbs?:|adl:|dbfs|oss://|cos://|viewfs:)")


class DatasetName(NamedTuple):
    """A name of a dataset in canonical spelling."""

    namespace: str
    name: str


@lru_cache(maxsize=65_536)
def canonical_name(namespace: str, name: str) -> DatasetName:
    """Return the canonical spelling of a name.

    S3 buckets use `s3://` instead of s3a and s3n. Files use `file` + `/path`. Glue tables use the
    ARN of their catalog + `table/database/name`, also for `aws:glue:` + `database.name`.
    """
    if _S3.match(namespace):
        bucket = _S3.sub("s3://", namespace).rstrip("/")
        return DatasetName(bucket, name.strip("/") or "/")
    if _FILE_NAMESPACE.fullmatch(namespace):
        path = _FILE_NAME.sub("", name)
        if namespace.endswith("/") and not path.startswith("/"):
            path = f"/{path}"
        return DatasetName("file", path.rstrip("/") or "/")
    if (catalog := _GLUE.fullmatch(namespace)) and (table := _GLUE_TABLE.fullmatch(name)):
        return DatasetName(f"arn:{catalog[1]}", "/".join(("table", *filter(None, table.groups()))))
    return DatasetName(namespace, name)


def glue_table(name: DatasetName) -> str | None:
    """Return `database.name` of a Glue table; None for any other dataset."""
    table = _GLUE_TABLE.fullmatch(name.name) if _GLUE.fullmatch(name.namespace) else None
    return ".".join(filter(None, table.groups())) if table else None


def is_location(name: DatasetName) -> bool:
    """Return True if a name is a storage location rather than a logical name."""
    return _LOCATION.match(name.namespace) is not None
