"""The command line of `headwater`, with the commands of its plugins, and the entry point."""

from __future__ import annotations

import difflib
import os
import signal
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperGroup

from headwater.cli._run import mcp_proxy, run
from headwater.collect.commands import ingest
from headwater.config import name_value
from headwater.errors import ConfigError, HeadwaterError, NotFoundError, shown
from headwater.keys import commands as keys
from headwater.lineage.commands import columns, show, tree
from headwater.plugin import load_named
from headwater.runs.commands import runs
from headwater.server.commands import repair, serve
from headwater.text import escaped
from headwater_client.old_name import adopt

_GROUPS = ("Collect", "Query", "Compare", "Operate", "Trust")
"""The order of the groups in the help; those of other packages follow."""
_COMMANDS = {
    "Collect": (serve, ingest),
    "Query": (show, tree, columns, runs),
    "Operate": (repair,),
}


class _Commands(TyperGroup):
    """Commands in groups of the help, by their `rich_help_panel`.

    A first argument that is no command is the name of a node: `headwater orders` shows it.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each group with its commands, all in one column."""
        width = max(map(len, self.commands))
        groups = [getattr(command, "rich_help_panel", "") for command in self.commands.values()]
        for group in dict.fromkeys((*(name for name in _GROUPS if name in groups), *groups)):
            rows = [
                (name.ljust(width), command.get_short_help_str(formatter.width - width - 6))
                for name, command in self.commands.items()
                if getattr(command, "rich_help_panel", None) == group
            ]
            with formatter.section(group):
                formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the arguments; a first argument that is not a command is a node."""
        is_node = not (args[0].startswith("-") or args[0] in self.commands)
        if is_node and args[1:] and not args[1].startswith("-"):
            raise ConfigError(
                f"there is no command {shown(args[0])}: `headwater --help` lists them"
            )
        return super().resolve_command(ctx, ["show", *args] if is_node else args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; end by SIGPIPE when the reader of its output is gone (`| head`)."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except typer.BadParameter as error:
            name_value(error)
            raise
        except BrokenPipeError:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGPIPE)


# headwater-client parses the options of its commands, including `--help`.
_UNPARSED_OPTIONS = {
    "allow_interspersed_args": False,
    "ignore_unknown_options": True,
    "help_option_names": [],
}


def command_line() -> Any:
    """Return the command line with the commands of all plugins.

    Raises:
        ConfigError: a plugin cannot be imported, or two define the same command.
    """
    app = typer.Typer(
        cls=_Commands,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_top)
    for group, members in _COMMANDS.items():
        for member in members:
            app.command(rich_help_panel=group)(member)
    for member in (run, mcp_proxy):
        app.command(rich_help_panel="Collect", context_settings=_UNPARSED_OPTIONS)(member)
    app.add_typer(keys.app, name="keys", rich_help_panel="Operate")
    command: Any = typer.main.get_command(app)
    for plugin, added in load_named("commands"):
        for name, item in typer.main.get_group(added).commands.items():
            if name in command.commands:
                raise ConfigError(
                    f"plugin {plugin}: commands: {name!r} is already defined. Uninstall one of "
                    "the two packages."
                )
            command.commands[name] = item
    return command


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"headwater {version('headwater')}")
        raise typer.Exit


def _top(
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Collect OpenLineage events and query lineage.

    Example: headwater search taxi
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; print the error of headwater or of a file to stderr, and exit.

    `arguments` are those after the program name, by default those of the process. The exit code is
    that of the error. Without an error, it returns.
    """
    words = sys.argv[1:] if arguments is None else [*arguments]
    message = adopt(os.environ)
    program = os.environ.get("HEADWATER_PROGRAM") or "headwater"
    if message:
        sys.stderr.write(f"{program}: {message}\n")
    command = None
    try:
        command = _named(program)
        command(words, prog_name=program)
        return
    except HeadwaterError as error:
        failure = error
    except OSError as error:
        if error.filename is None:
            raise
        failure = ConfigError(f"{error.filename}: cannot be read or written: {error.strerror}")
    hint = _hint(failure, program, words, [*getattr(command, "commands", ())])
    message = escaped(str(failure).replace("`headwater ", f"`{program} "), keep="\n")
    sys.stderr.write(f"{program}: {message}{hint}\n")
    sys.exit(failure.exit_code)


@cache
def _named(program: str) -> Any:
    """Return the command line with a program's name in its help."""
    command = command_line()
    _rename(command, program)
    return command


def _hint(error: HeadwaterError, program: str, words: list[str], commands: list[str]) -> str:
    """Return a line with similar nodes, and similar commands if the first word is not a command.

    `words` are the arguments, and `commands` the names of all commands. The text is empty, or
    begins with a line end, because it follows the message.
    """
    similar = list(error.nearest) if isinstance(error, NotFoundError) else []
    word = words[0] if words else ""
    if word not in commands:
        similar += [f"{program} {name}" for name in difflib.get_close_matches(word, commands)]
        if not similar and isinstance(error, NotFoundError):
            return f"\n`{program} --help` lists the commands."
    return "\nDid you mean: " + ", ".join(map(escaped, similar)) if similar else ""


def _rename(command: Any, program: str) -> None:
    """Replace the program name in the help examples by the one in use."""
    command.help = (command.help or "").replace("Example: headwater ", f"Example: {program} ")
    for child in getattr(command, "commands", {}).values():
        _rename(child, program)
