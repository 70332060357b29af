"""The command `headwater mcp-proxy`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from headwater_client._report import Report
from headwater_client.capture._names import Database, Name, database_of_url, is_temporary
from headwater_client.errors import ConfigError
from headwater_client.parents import parent_problems

__all__ = ["argument_parser", "mcp_proxy"]

_WRONG_USAGE = 2
_DIALECTS = (
    *("athena", "bigquery", "clickhouse", "databricks", "duckdb", "mssql", "mysql", "oracle"),
    *("postgres", "redshift", "snowflake", "spark", "sqlite", "trino"),
)


class _AsWritten(Database):
    """A database whose tables are named as in the SQL."""

    def table(self, parts: tuple[str, ...]) -> Name | None:
        """Return the name of a table."""
        found = super().table(parts)
        is_own = found is None or is_temporary(found)
        return found if is_own else (self.namespace, ".".join(parts))


def argument_parser(program: str = "headwater") -> argparse.ArgumentParser:
    """Return the parser of the arguments of `mcp-proxy`."""
    parser = argparse.ArgumentParser(
        prog=f"{program} mcp-proxy",
        usage=f"{program} mcp-proxy [OPTIONS] [--] COMMAND [ARGUMENTS...]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        description="Run an MCP server and record which data an agent uses through it.\n\n"
        "The command is an MCP server over stdin and stdout. Messages, signals and the exit code\n"
        "are passed on unchanged. Each tool call is a run; arguments are not recorded, except\n"
        "SQL statements with --database or --namespace, and the URIs of resources.\n\n"
        f"Example: {program} mcp-proxy --database sqlite:///shop.db --spool ./spool -- true",
    )
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, help="The MCP server with its arguments."
    )
    parser.add_argument(
        "--database",
        help="SQLAlchemy URL of the database that runs the SQL in the arguments sql, query and"
        " statement: sqlite:///shop.db, postgresql://host/db. The password is not used.",
    )
    parser.add_argument(
        "--namespace",
        help="OpenLineage namespace of the tables in the SQL, instead of --database. Tables are"
        " named as in the SQL.",
    )
    parser.add_argument("--dialect", help=f"Dialect of the SQL: {', '.join(_DIALECTS)}.")
    parser.add_argument("--agent", help="Name of the agent. [the name that the client sends]")
    parser.add_argument("--server", help="Name of the server. [the name that it sends]")
    parser.add_argument("--spool", type=Path, help="Folder to write events to.")
    parser.add_argument("--url", help="URL of a server to send events to, in addition to --spool.")
    parser.add_argument("--api-key", help="API key of the server.")
    return parser


def mcp_proxy(arguments: Sequence[str], program: str = "headwater") -> int:
    """Run the server in the arguments and return its exit code; return 2 for an invalid setting.

    If a signal ended the server, the same signal ends this process.
    """
    parser = argument_parser(program)
    options = parser.parse_args(arguments)
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("missing command; expected one, as in the example of --help")
    environment = os.environ
    if environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        os.execvpe(command[0], command, environment)
    from headwater_client._mcp_pipes import run_proxy
    from headwater_client._mcp_session import McpSettings
    from headwater_client._process import end_like

    try:
        report = Report.from_environment(
            environment, spool=options.spool, url=options.url, api_key=options.api_key
        )
        database = database_of(options)
    except ConfigError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return _WRONG_USAGE
    report.is_lasting = True
    for problem in parent_problems(environment):
        sys.stderr.write(f"{program}: {problem}\n")
    name = Path(command[0]).name
    settings = McpSettings(options.agent, options.server, name, database)
    return end_like(run_proxy(settings, command, report, environment))


def database_of(options: argparse.Namespace) -> Database | None:
    """Return the database of the options. Raises ConfigError if they are invalid."""
    if options.database is None:
        if options.namespace is None and options.dialect is None:
            return None
        if not options.namespace or options.dialect not in _DIALECTS:
            received = f"{options.namespace!r} and {options.dialect!r}"
            raise ConfigError(
                f"arguments --namespace, --dialect: received {received}, expected both, with one of"
                f" the dialects {', '.join(_DIALECTS)}"
            )
        return _AsWritten(options.namespace, [], options.dialect)
    if options.namespace is not None or options.dialect is not None:
        raise ConfigError(
            "argument --database: received --namespace or --dialect as well; pass only --database,"
            " or --namespace with --dialect"
        )
    found = database_of_url(options.database)
    if found is None:
        scheme = options.database.partition(":")[0]  # the rest may contain a password
        raise ConfigError(
            f"argument --database: received {scheme + ':…'!r}, expected the URL of a database that"
            " other programs can read, such as sqlite:///shop.db or postgresql://host/db"
        )
    return found
