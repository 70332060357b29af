"""Connect to the database of the log."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from headwater.errors import LogError

_PATIENCE = 10  # seconds to wait for a connection
# Seconds to wait for SQLite's lock unless its URL has a `timeout`. The lock is not fair: on a slow
# disk, one of several writers can wait for a long time.
_LOCK_PATIENCE = 30


def connect(url: str, *, must_exist: bool) -> sa.Engine:
    """Return the engine of a database.

    Raises:
        ArgumentError: the URL is invalid, or of another kind of database.
        FileNotFoundError: there is no folder for the file.
        LogError: there is no file, and it must exist.
    """
    if "://" not in url:
        url = f"sqlite:///{Path(url).expanduser().absolute()}"
    parsed = make_url(url)
    if (backend := parsed.get_backend_name()) not in ("sqlite", "postgresql"):
        raise ArgumentError(backend)
    if backend == "postgresql":
        # pool_pre_ping reconnects to a restarted server; connect_timeout gives up on a hanging one.
        parsed = parsed.update_query_dict({"connect_timeout": str(_PATIENCE), **parsed.query})
        engine = sa.create_engine(parsed, pool_pre_ping=True)
        sa.event.listen(engine, "connect", _set_durable)
        return engine
    if parsed.database and not parsed.database.startswith("file:"):  # a URI may lack a folder
        if not (folder := Path(parsed.database).parent).is_dir():
            raise FileNotFoundError(f"there is no folder {str(folder)!r}; create it")
        if must_exist and not Path(parsed.database).exists():
            raise no_log(parsed.database)
    # The driver begins transactions too late, hence AUTOCOMMIT and an explicit BEGIN IMMEDIATE.
    wait = float(str(parsed.query.get("timeout", _LOCK_PATIENCE)))
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", connect_args={"timeout": wait})
    sa.event.listen(engine, "connect", _set_pragmas)
    return engine


def _set_pragmas(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    # NORMAL can lose the last commits on power failure; acknowledged events must be durable.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()
    # A damaged row that is not UTF-8 would make its whole page fail.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")


def _set_durable(connection: Any, _record: Any) -> None:
    """Make PostgreSQL's commits durable, whatever the server's default is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('synchronous_commit', 'on', false)"
            " WHERE current_setting('synchronous_commit') = 'off'"
        )
    connection.commit()


def no_log(url: str) -> LogError:
    """Create the error for a database without a log."""
    name = printable(url)
    return LogError(
        f"there is no log in {name!r}: use an existing one,"
        f" or create it with `headwater ingest PATH --database {shlex.quote(name)}`"
    )


def printable(url: str) -> str:
    """Return a URL without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return url
