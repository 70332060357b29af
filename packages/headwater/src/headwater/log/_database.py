"""The database of the log: connections, transactions and the errors of both kinds of databases."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DataError, SQLAlchemyError

from headwater.errors import ConfigError, LogError, UnstorableError, how_to_install

_WRITERS = 0x746C6F67  # key of the advisory lock; any constant
_PATIENCE = 10  # seconds to wait for a connection
# Seconds to wait for SQLite's lock unless its URL has a `timeout`. The lock is not fair: on a slow
# disk, one of several writers can wait for a long time.
_LOCK_PATIENCE = 30


class Database:
    """A database at a SQLAlchemy URL, with one writer at a time and any number of readers."""

    def __init__(self, url: str, *, must_exist: bool) -> None:
        """Open a database; use it within `opening`, which explains errors."""
        self._engine = _connect(url, must_exist=must_exist)

    @property
    def shown_url(self) -> str:
        """The database's URL without its password."""
        return self._engine.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Open a connection whose changes are committed at the end. Raises LogError."""
        try:
            with self._transaction() as connection:
                yield connection
        except SQLAlchemyError as error:
            kind = UnstorableError if _is_about_a_value(error) else LogError
            raise kind(f"cannot write to the database: {_reason(error)}") from error

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a connection for reading. Raises LogError."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise LogError(f"cannot read the database: {_reason(error)}") from error

    def fetch(self, query: sa.Select[Any], **values: object) -> Sequence[Any]:
        """Return the rows of a query. Raises LogError."""
        with self.reading() as connection:
            return connection.execute(query, values).all()

    def value(self, query: sa.Select[Any]) -> Any:
        """Return the first value of a query; None without rows. Raises LogError."""
        with self.reading() as connection:
            return connection.execute(query).scalar()

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        """Open a connection with the only write transaction; it is committed or rolled back.

        SQLite locks its file; in PostgreSQL, an advisory lock of this program does the same.
        """
        with self._engine.connect() as connection:
            if self._engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.exec_driver_sql("COMMIT")
                except BaseException:
                    # On a full disk, SQLite may already have rolled back.
                    driver = connection.connection.driver_connection
                    if driver is not None and driver.in_transaction:
                        connection.exec_driver_sql("ROLLBACK")
                    raise
                return
            with connection.begin():
                # One writer at a time, as in SQLite: otherwise an event could be committed after
                # one with a greater `seq`, and readers that have passed it would never see it.
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS})")
                yield connection

    def _insert_missing(self, table: sa.Table) -> Any:
        """Return a statement that inserts the rows whose hash is new."""
        # Import only one dialect, because each import is slow.
        if self._engine.dialect.name == "postgresql":
            from sqlalchemy.dialects.postgresql import insert
        else:
            from sqlalchemy.dialects.sqlite import insert  # type: ignore[assignment]
        return insert(table).on_conflict_do_nothing(index_elements=["hash"])


@contextmanager
def opening(url: str) -> Iterator[None]:
    """Explain the errors of opening a database. Raises ConfigError or LogError."""
    try:
        yield
    except ArgumentError as error:
        raise ConfigError(
            f"database: received {printable(url)!r}, expected a file path or a SQLAlchemy URL"
            " of SQLite or PostgreSQL, such as sqlite:////var/lib/headwater/log.db or"
            " postgresql+psycopg://host/lineage"
        ) from error
    except ImportError as error:
        raise ConfigError(
            f"database: received {printable(url)!r}, but its driver is missing: {error}."
            f" {how_to_install('postgresql')}, and pass postgresql+psycopg://host/lineage"
        ) from error
    except (SQLAlchemyError, OSError) as error:
        message = f"cannot open the database {printable(url)!r}: {_reason(error)}"
        raise LogError(message) from error


def _connect(url: str, *, must_exist: bool) -> sa.Engine:
    """Return the engine of a database.

    Raises:
        ArgumentError: the URL is invalid, or of another kind of database.
        FileNotFoundError: there is no folder for the file.
        LogError: there is no file, and it must exist.

    `url` is a path, or a URL of SQLAlchemy. Connections write durably, see `_set_pragmas`.
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
    """Configure a new connection to a SQLite file; SQLAlchemy calls it."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    # NORMAL can lose the last commits on power failure; acknowledged events must be durable.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()
    # A damaged row that is not UTF-8 would make its whole page fail.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")


def _set_durable(connection: Any, _record: Any) -> None:
    """Make PostgreSQL's commits durable, whatever the server's default is.

    SQLAlchemy calls it for each new connection.
    """
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


def foreign(url: str) -> LogError:
    """Create the error for a database of another program."""
    return LogError(
        f"{printable(url)!r} is the database of another program: use that of a lineage server"
    )


def _reason(error: Exception) -> str:
    """Return the error's message without the statement, its values and the link to the docs."""
    return str(getattr(error, "orig", None) or error).partition("(Background on")[0].strip()


def _is_about_a_value(error: SQLAlchemyError) -> bool:
    """Return True if the database rejected this value; False if it cannot store any value."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None) or ""
    return isinstance(error, DataError) or state.startswith("54")  # program limit exceeded
