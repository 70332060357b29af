"""Canonical names of datasets, according to the table of naming rules.

A *location* is a name of a file or an object, such as `s3://bucket` + `path`. A *local* name is one
that others may use for another dataset, such as that of a table in an in-memory catalog. An
*authority* is the part of a namespace between `//` and the next slash.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from headwater.identity._rules import (
    LOCAL_HOST,
    LOCATION,
    RULES,
    SESSION_NAME,
    STORE_URLS,
    UNIQUE_NAMESPACE,
    WAREHOUSE,
    NamingRule,
)

_URI = re.compile(r"(?:jdbc:)?([a-z][a-z0-9+.-]*)://([^/]+)(/.*)?", re.IGNORECASE)
_PORT = re.compile(r"(.*?[^:])(?::(\d*|None))?")
_PORT_OF_HOST = re.compile(r":\d*$")
_AWS_LOCATOR = re.compile(r"[^.-]+\.[a-z]{2}(-[a-z]+)+-\d")
_SNOWFLAKE_HOST = re.compile(r"(\.privatelink)?((\.snowflakecomputing\.com)+(:443)?)?$")
_LISTED = re.compile(r"(?<=//)[a-z_]+://|(?<=,)\s*[a-z_]+://", re.I)  # kafka://SSL://a,SSL://b
_CLIENT = re.compile(r"^([^/]+//)[^/]*@|[?;](?!.*(base|cat|schema|server|instance|port)).*", re.I)
_INSTANCE = re.compile(r"(sqlserver://[\w.-]+)\\(\w+)(:\d+)")  # host\name
_BIGQUERY = re.compile(r"^([a-z][a-z0-9-]*)[.:]([^.:]+\.[^.:$]+)(\$\w+)?$")
_DBFS = re.compile(r"dbfs(:/{0,2})?", re.IGNORECASE)
_FILE_NAMESPACE = re.compile(r"file(:/{0,3}|://localhost/?)?", re.IGNORECASE)
_FILE_NAME = re.compile(r"file:(//localhost(?=/)|//(?=/))?(?=/)", re.IGNORECASE)
_GLUE = re.compile(r"(?:arn:)?(aws[\w-]*:glue:[^:/]+:\d{12})/?")
_GLUE_TABLE = re.compile(r"table/([^/]+)/([^/]+)|([^/.]+)\.([^/.]+)")

_LONGEST_PATH = 1_024  # that of S3 and Google Cloud Storage

_RULE_BY_SCHEME = {scheme: rule for rule in RULES for scheme in (rule.scheme, *rule.aliases)}


class DatasetName(NamedTuple):
    """A name of a dataset in canonical spelling."""

    namespace: str
    name: str


@lru_cache(maxsize=65_536)
def canonical_name(namespace: str, name: str) -> DatasetName:
    """Return the canonical spelling of a name; equal places have equal canonical names.

    The naming rules apply, also to URLs of JDBC: `jdbc:postgresql://H/db` becomes
    `postgres://h:5432/db`. Files use `file` + `/path`. Glue tables use the ARN of their catalog +
    `table/database/name`, also for `aws:glue:` + `database.name`. URLs of object stores become the
    names of their places, such as `s3://bucket` + `key`.
    """
    namespace, name = _of_url(namespace, name) if namespace[:4] == "http" else (namespace, name)
    uri = _URI.fullmatch(_LISTED.sub("", namespace))
    rule = _RULE_BY_SCHEME.get(uri[1].lower()) if uri else None
    if uri and rule and rule.names == "table":
        uri = _URI.fullmatch(_CLIENT.sub(r"\1", uri[0]))
    if uri and rule:
        path = (uri[3] or "").rstrip("/")
        spelled = _INSTANCE.sub(r"\1\3/\2", f"{rule.scheme}://{_authority(rule, uri[2])}{path}")
        spelled = spelled.replace(".blob.", ".dfs.", 1) if rule.scheme == "abfss" else spelled
        # Many datasets share a namespace.
        return DatasetName(sys.intern(spelled), name if path else _path(rule, name))
    if namespace == "bigquery":  # `p`.d.t, p:d.t of legacy SQL, and p.d.t$20260101 of a partition
        return DatasetName(namespace, _BIGQUERY.sub(r"\1.\2", name.replace("`", "")))
    if _DBFS.fullmatch(namespace):
        return DatasetName("dbfs", f"/{name.strip('/')}")
    if _FILE_NAMESPACE.fullmatch(namespace):
        file = _FILE_NAME.sub("", name).rstrip("/") or "/"
        is_absolute = file.startswith("/") or not namespace.endswith("/")
        return DatasetName("file", file if is_absolute else f"/{file}")
    if (catalog := _GLUE.fullmatch(namespace)) and (table := _GLUE_TABLE.fullmatch(name)):
        return DatasetName(f"arn:{catalog[1]}", "/".join(("table", *filter(None, table.groups()))))
    return DatasetName(sys.intern(namespace), name)


def _of_url(namespace: str, name: str) -> tuple[str, str]:
    url = f"{namespace.rstrip('/')}/{name.strip('/')}"
    found = ((pattern.fullmatch(url), place) for pattern, place in STORE_URLS)
    return next(((m.expand(place), m.groups()[-1]) for m, place in found if m), (namespace, name))


def _authority(rule: NamingRule, spelled: str) -> str:
    """Return the canonical authority: hosts in lower case, with a port if there is a default.

    `spelled` is the text between `//` and the path, maybe with a user and a port.
    """
    if rule.authority == "bucket":
        return spelled
    if rule.authority == "account":
        account = _SNOWFLAKE_HOST.sub("", spelled.lower()).replace("_", "-")
        return f"{account}.aws" if _AWS_LOCATOR.fullmatch(account) else account
    user, at, address = spelled.rpartition("@")
    if "," in address:  # the servers of one cluster, in any order
        hosts = {_authority(rule, host) for host in address.replace(" ", "").split(",") if host}
        return f"{user}{at}{','.join(sorted(hosts))}"
    if (match := _PORT.fullmatch(address)) is None or ";" in address:
        return f"{user}{at}{address.lower()}"
    host, port = match[1].lower(), match[2]
    if port in (None, "", "None"):
        port = str(rule.port or "")
    if port == str(rule.omitted_port):
        port = ""
    return f"{user}{at}{host}{':' if port else ''}{port}"


def _path(rule: NamingRule, name: str) -> str:
    """Return the name of a dataset by the rule of its namespace: a key, a path, or as it is."""
    if rule.names == "key":
        return name.strip("/") or "/"
    return f"/{name.strip('/')}" if rule.names == "path" else name


def glue_table(name: DatasetName) -> str | None:
    """Return `database.name` of a Glue table; None for any other dataset."""
    table = _GLUE_TABLE.fullmatch(name.name) if _GLUE.fullmatch(name.namespace) else None
    return ".".join(filter(None, table.groups())) if table else None


def is_location(name: DatasetName) -> bool:
    """Return True if a name is a storage location rather than a logical name."""
    return LOCATION.match(name.namespace) is not None


def folders_above(name: DatasetName) -> Iterator[DatasetName]:
    """Yield the folders that a location is in, innermost first; none if its path is too long.

    `s3://lake` + `raw/trips/1.csv` is in `raw/trips`, `raw` and `/`.
    """
    if not is_location(name) or len(name.name) > _LONGEST_PATH:
        return
    path = name.name.rstrip("/")
    while "/" in path:
        path = path.rpartition("/")[0]
        yield name._replace(name=path or "/")
    if path and name.name != "/":
        yield name._replace(name="/")


def is_local(name: DatasetName) -> bool:
    """Return True for a local name: others may use it for another dataset."""
    return locality(name) > UNIQUE


def is_in_warehouse(location: DatasetName, table: DatasetName) -> bool:
    """Return True if a location is in the folder of one machine that a table is named after."""
    folder = WAREHOUSE.fullmatch(table.namespace) if location.namespace == "file" else None
    return folder is not None and location.name.startswith(f"/{folder[1].rstrip('/')}/")


UNIQUE, OF_HOST, OF_SESSION = range(3)
"""Where a name is unique: everywhere, on one host or network, or in one session."""


@lru_cache(maxsize=65_536)
def locality(name: DatasetName) -> int:
    """Return where a name is unique: UNIQUE (everywhere), OF_HOST or OF_SESSION.

    A name without an authority belongs to a session, as do all in `flink://`. The hosts of
    machines, clusters and private networks, such as `localhost` or `ip-10-0-0-1`, are reused. A
    location, such as s3://, is unique.

    The greater the value, the smaller the part of the world in which the name is unique.
    """
    namespace = name.namespace
    if is_location(name) or UNIQUE_NAMESPACE.fullmatch(namespace):
        return UNIQUE
    if WAREHOUSE.fullmatch(namespace):
        return OF_HOST
    _, _, rest = namespace.partition("//")
    authority = rest.partition("/")[0].rpartition("@")[2].partition(",")[0].lower()
    host = _PORT_OF_HOST.sub("", authority)
    if not host or namespace.startswith("flink:") or SESSION_NAME.fullmatch(name.name):
        return OF_SESSION
    return OF_HOST if LOCAL_HOST.fullmatch(host) else UNIQUE
