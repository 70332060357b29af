"""Names of files, objects and database tables, as in OpenLineage's naming specification.

https://openlineage.io/docs/spec/naming
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any
from urllib.parse import unquote, urlsplit

Name = tuple[str, str]
"""Namespace and name of a dataset."""

_URL = re.compile(r"([a-zA-Z][\w+.-]*)://")
_BUCKETS = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "wasb": "wasbs"}
_STORES = {"s3", "gs", "abfss", "wasbs", "hdfs", "adl", "oss", "cos", "http", "https", "ftp"}
_FILE_SYSTEMS = {"s3": "s3", "s3a": "s3", "gcs": "gs", "gs": "gs", "file": "file", "local": "file"}
_GLOB = re.compile(r"[*?\[{]")
_LONGEST_PATH = 4_096

# Scheme in OpenLineage and default port, by the backend name of a SQLAlchemy URL.
_DATABASES: dict[str, tuple[str, int | None]] = {
    "postgresql": ("postgres", 5432),
    "postgres": ("postgres", 5432),
    "redshift": ("redshift", 5439),
    "mysql": ("mysql", 3306),
    "mariadb": ("mysql", 3306),
    "mssql": ("mssql", 1433),
    "oracle": ("oracle", 1521),
    "trino": ("trino", 8080),
    "clickhouse": ("clickhouse", None),
    "clickhousedb": ("clickhouse", None),
    "snowflake": ("snowflake", None),
}


def names_of(value: Any, filesystem: Any = None) -> list[Name]:
    """Return the names of paths, URLs or open files: of one, or of a list of them.

    Values without a location, such as buffers, have none.
    """
    values = value if isinstance(value, list | tuple) else [value]
    return list(dict.fromkeys(name for item in values for name in _names_of(item, filesystem)))


def _names_of(value: Any, filesystem: Any) -> Iterator[Name]:
    """Yield the name of a path, URL or open file; none if its place is unknown."""
    if isinstance(value, bytes):
        value = os.fsdecode(value)
    if isinstance(value, str | os.PathLike):
        name = name_of_path(os.fspath(value), filesystem)
    else:
        name = _name_of_open_file(value)
    if name:
        yield name


def name_of_path(path: str, filesystem: Any = None) -> Name | None:
    """Return the name of a path or URL; a pattern stands for the folder above its first wildcard.

    None if the place is unknown: a text instead of a path, or an unknown file system.
    """
    if not path or len(path) > _LONGEST_PATH or "\n" in path or path[0] in "{<":
        return None
    path = path.rpartition("::")[2]  # fsspec's chains: simplecache::s3://bucket/key
    if filesystem is not None and not _URL.match(path):
        return _name_in(path, filesystem)
    if not (url := _URL.match(path)):
        return "file", _without_pattern(os.path.abspath(os.path.expanduser(path)))
    scheme = url[1].lower()
    scheme = _BUCKETS.get(scheme, scheme)
    if scheme == "file":
        return "file", _without_pattern(os.path.normpath(unquote(urlsplit(path).path)))
    if scheme not in _STORES:
        return None
    authority, _, key = path[url.end() :].partition("/")
    if scheme in ("http", "https", "ftp"):
        key = re.split(r"[?#]", key)[0]  # a query may contain a signature
    elif scheme == "hdfs":
        return f"hdfs://{authority}", _without_pattern(f"/{key}")
    if scheme not in ("abfss", "wasbs"):  # container@account is no user
        authority = authority.rpartition("@")[2]
    return f"{scheme}://{authority}", _without_pattern(key).strip("/") or "/"


def _name_in(path: str, filesystem: Any) -> Name | None:
    """Return the name of a path in a file system of fsspec or PyArrow."""
    kinds = getattr(filesystem, "type_name", None) or getattr(filesystem, "protocol", None)
    for kind in kinds if isinstance(kinds, tuple | list) else (kinds,):
        scheme = _FILE_SYSTEMS.get(str(kind))
        if scheme == "file":
            return name_of_path(path)
        if scheme:
            return name_of_path(f"{scheme}://{path.lstrip('/')}")
    return None


def _without_pattern(path: str) -> str:
    found = _GLOB.search(path)
    return (path[: found.start()].rpartition("/")[0] or "/") if found else path


def _name_of_open_file(value: Any) -> Name | None:
    """Return the name of a local file that Python opened, or of a file that fsspec opened.

    fsspec's has its `path` and file system. A local file must exist: the `name` of other objects is
    no path.
    """
    path, filesystem = getattr(value, "path", None), getattr(value, "fs", None)
    if isinstance(path, str) and filesystem is not None:
        return name_of_path(path, filesystem)
    path = getattr(value, "name", None)
    if hasattr(value, "read") and isinstance(path, str) and os.path.isabs(os.path.abspath(path)):
        return name_of_path(path) if os.path.exists(path) else None
    return None


_TEMPORARY = "temporary:"
"""Prefix of the namespaces of temporary tables, which are not datasets."""
_TEMPORARY_SCHEMA = re.compile(r"pg_temp(?:_\d+)?$|tempdb$", re.IGNORECASE)
_sessions = count()


def is_temporary(name: Name) -> bool:
    """Return True if a name is that of a temporary table."""
    return name[0].startswith(_TEMPORARY)


def is_file(name: Name) -> bool:
    """Return True if a name is that of a file, a folder or an object of a store."""
    return name[0].partition("://")[0] in {"file", *_STORES}


class Database:
    """A database: the namespace of its tables, and how short names of tables are completed."""

    def __init__(self, namespace: str, defaults: Iterable[str | None], dialect: str) -> None:
        self.namespace = namespace
        self.defaults = [part or "" for part in defaults]
        self.dialect = dialect
        self.temporary: set[str] = set()
        """Names of the temporary tables and views, in lower case."""
        self.attached: dict[str, Database | None] = {}
        """Other databases by their names in this one; None if their tables are not datasets."""
        self._session = f"{_TEMPORARY}{next(_sessions)}"

    def temporary_table(self, parts: tuple[str, ...]) -> Name:
        """Return the name of a temporary table of this database."""
        return self._session, parts[-1].lower()

    def table(self, parts: tuple[str, ...]) -> Name | None:
        """Return the name of a table; None if a part that its name needs is unknown.

        `orders` in a database with the defaults `["shop", "public"]` is `shop.public.orders`. The
        first part may be an attached database. The namespace of a temporary table, such as `#t` of
        SQL Server, starts with `temporary:`, which no dataset has.
        """
        first, last = parts[0].lower(), parts[-1].lower()
        if len(parts) == 1:
            is_own = last in self.temporary
        else:
            is_own = bool(_TEMPORARY_SCHEMA.match(first))
            is_own |= first == "temp" and self.dialect in ("duckdb", "sqlite")
        if is_own or last.startswith(("#", "@")):
            return self.temporary_table(parts)
        if len(parts) > 1 and parts[0] in self.attached:
            other = self.attached[parts[0]]
            return other.table(parts[1:]) if other else None
        missing = len(self.defaults) + 1 - len(parts)
        whole = (*self.defaults[: max(0, missing)], *parts[-len(self.defaults) - 1 :])
        return (self.namespace, ".".join(whole)) if all(whole) else None


def database_of_url(url: str, default_schema: str | None = None) -> Database | None:
    """Return the database of a SQLAlchemy URL, without user and password; None if it is unknown.

    `default_schema` is the schema of tables without one, as the database reports it. A database in
    memory is unknown, because no other process can read it. The defaults are the parts before the
    name of a table: database and schema; only the database for MySQL and ClickHouse.
    """
    parts = urlsplit(url)
    backend = parts.scheme.partition("+")[0].lower()
    path, host = unquote(parts.path[1:]), parts.hostname or "localhost"
    if backend in ("sqlite", "duckdb"):
        path = path.partition("?")[0]
        if path in ("", ":memory:") or path.startswith("file:"):
            return None
        place = os.path.abspath(path)
        if backend == "sqlite":
            return Database(f"sqlite://{place}", [], "sqlite")
        return Database(f"duckdb://{place}", [stem(place), "main"], "duckdb")
    if backend == "bigquery":
        return Database("bigquery", [parts.hostname, path or None], "bigquery")
    if backend not in _DATABASES:
        return None
    scheme, port = _DATABASES[backend]
    port = _port(parts) or port
    namespace = f"{scheme}://{host}:{port}" if port else f"{scheme}://{host}"
    names = path.split("/")
    if scheme in ("mysql", "clickhouse"):
        return Database(namespace, [names[0]], scheme)
    schema = default_schema or (
        "".join(names[1:2]) or {"postgres": "public", "mssql": "dbo"}.get(scheme)
    )
    return Database(namespace, [names[0], schema], scheme)


def _port(parts: Any) -> int | None:
    try:
        port: int | None = parts.port
    except ValueError:  # several hosts
        return None
    return port


def stem(path: str) -> str:
    """Return the name that DuckDB gives the database in a file."""
    return os.path.splitext(os.path.basename(path))[0]
