"""The command `headwater run`."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from headwater_client._declared import Declaration, Declared, read_declared
from headwater_client._process import end_like, run_command
from headwater_client._report import Report
from headwater_client.capture._process import script_name
from headwater_client.errors import ConfigError
from headwater_client.parents import parent_problems

__all__ = ["argument_parser", "run"]

_WRONG_USAGE = 2


def argument_parser(program: str = "headwater") -> argparse.ArgumentParser:
    """Return the parser of the arguments of `run`."""
    parser = argparse.ArgumentParser(
        prog=f"{program} run",
        usage=f"{program} run [OPTIONS] [--] COMMAND [ARGUMENTS...]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        description="Run a command as a job with declared inputs and outputs. What a Python\n"
        "script reads and writes with pandas, Polars, DuckDB and others is added.\n\n"
        "Output, signals and exit code are those of the command; exit code 2: invalid file.\n\n"
        f"Example: {program} run -f lineage.yaml --spool ./spool -- true",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="The command with its arguments.")
    parser.add_argument(
        *("--file", "-f"),
        type=Path,
        help="YAML file of its inputs and outputs. [lineage.yaml, if it exists or if the command is"
        " not a Python script]",
    )
    parser.add_argument(
        "--example", action="store_true", help="Print an example of the file with every key."
    )
    parser.add_argument("--spool", type=Path, help="Folder to write its events to.")
    parser.add_argument(
        "--url", help="URL of a server to send its events to, in addition to --spool."
    )
    parser.add_argument("--api-key", help="API key of the server.")
    parser.add_argument(
        "--heartbeat",
        type=_seconds,
        default=60.0,
        help="Seconds between RUNNING events; 0: none. [60]",
    )
    return parser


def run(arguments: Sequence[str], program: str = "headwater") -> int:
    """Run the command in the arguments and return its exit code; return 2 for an invalid setting.

    If a signal ended the command, the same signal ends this process.
    """
    parser = argument_parser(program)
    options = parser.parse_args(arguments)
    if options.example:
        sys.stdout.write(resources.files(__package__).joinpath("lineage.yaml").read_text())
        return 0
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("missing command; expected one, as in the example of --help")
    environment = os.environ
    try:
        if environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
            os.execvpe(command[0], command, environment)
        report = Report.from_environment(
            environment, spool=options.spool, url=options.url, api_key=options.api_key
        )
        declared = _declared(options.file, command, environment)
    except ConfigError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return _WRONG_USAGE
    for problem in parent_problems(environment):
        sys.stderr.write(f"{program}: {problem}\n")
    return end_like(run_command(declared, command, report, options.heartbeat, environment))


def _declared(
    file: Path | None, command: Sequence[str], environment: Mapping[str, str]
) -> Declared:
    """Read the declaration of the job; `file` is that of the option --file.

    Without one and without a lineage.yaml in this folder, a Python script is a job with the name of
    its file, which declares no datasets. Raises ConfigError for another command.
    """
    default = Path("lineage.yaml")
    if file is None and not default.exists() and (name := script_name(command)):
        namespace = environment.get("OPENLINEAGE_NAMESPACE") or "default"
        script = next((Path(word) for word in command[1:] if word.endswith(".py")), default)
        return Declared(script, Declaration(namespace, name), (), ())
    if file is None and not default.exists():
        raise ConfigError(
            f"{shlex.join(command)}: this command is not a Python script, so a file with its inputs"
            " and outputs is required. Create lineage.yaml or pass a file with --file;"
            " `run --example` prints one"
        )
    return read_declared(file or default, environment)


def _seconds(text: str) -> float:
    """Return the seconds of the option --heartbeat; argparse calls it. Raises its error."""
    message = f"received {text!r}, expected a number of seconds, 0 or more"
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(message) from None
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(message)
    return seconds
