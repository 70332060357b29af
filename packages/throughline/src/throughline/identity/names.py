"""One spelling for every way to write the same location."""

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
    """A name of a dataset in its one spelling."""

    namespace: str
    name: str


@lru_cache(maxsize=65_536)
def canonical_name(namespace: str, name: str) -> DatasetName:
    """Spell a name in one way.

    `s3://` for s3a and s3n, `file` + `/path` for every file form, and for a Glue table the ARN of
    its catalog + `table/database/name`, also of the `aws:glue:` + `database.name` of old producers.
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
    """Return `database.name` of a Glue table, None for any other dataset."""
    table = _GLUE_TABLE.fullmatch(name.name) if _GLUE.fullmatch(name.namespace) else None
    return ".".join(filter(None, table.groups())) if table else None


def is_location(name: DatasetName) -> bool:
    """Whether a name says where the data lies rather than what it is called."""
    return _LOCATION.match(name.namespace) is not None
