"""The commands of `./run`."""

from __future__ import annotations

import os
import signal
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import httpx
import typer
from typer.core import TyperGroup

from commands.old_names import report_old_names
from commands.output import say
from commands.processes import become
from headwater.config import name_value
from headwater.text import escaped
from lakehouse.errors import PipelineError, SettingsError
from lakehouse.settings import REPOSITORY, Settings, load_settings, source_of


class _Commands(TyperGroup):
    """Commands whose error messages contain the invalid value."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            name_value(error)
            raise


app = typer.Typer(
    cls=_Commands,
    name="./run",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Two orchestrators, one lineage.",
)

FLOW = REPOSITORY / "metaflow_flows" / "train_forecast_model" / "flow.py"
CHECKOV = "checkov==3.3.30"
PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
ALIAS = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}
ALIASES = {
    "training-flow-datahub": ("training-flow", "--backend", "datahub"),
    "training-flow-datazone": ("training-flow", "--backend", "datazone"),
    "airflow-docker-datahub": ("airflow-docker", "--backend", "datahub"),
    "airflow-docker-datazone": ("airflow-docker", "--backend", "datazone"),
    "datahub-docker": ("backend-docker", "datahub"),
    "datahub-docker-stop": ("backend-docker", "datahub", "--stop"),
    "datahub-docker-nuke": ("backend-docker", "datahub", "--nuke"),
}
"""Short names of commands with arguments; further arguments are appended."""

Backend = Annotated[
    str | None, typer.Option(help="Lineage backend: a name from docs/how-to/backends.md, or a URL.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")]
Profile = Annotated[str | None, typer.Option(help="AWS profile (setting aws_profile).")]

_set_options: ContextVar[dict[str, str]] = ContextVar("_set_options", default={})  # noqa: B039 - never changed
"""Settings given with `--set`."""


@app.callback()
def _top(
    settings_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Set a setting for this command; repeatable."
        ),
    ] = None,
) -> None:
    """Two orchestrators, one lineage."""
    pairs = [pair.partition("=") for pair in settings_ or ()]
    if invalid := [name for name, sign, _ in pairs if not (name and sign)]:
        raise SettingsError(
            f"--set received {invalid[0]!r}; expected NAME=VALUE, such as airflow_port=9091."
        )
    known = Settings.model_fields
    _set_options.set({n.lower() if n.lower() in known else n: value for n, _, value in pairs})


@app.command()
def demo(
    data: Annotated[
        str | None, typer.Option(help="Path or URL of a mirror with taxi/ and weather/.")
    ] = None,
    real: Annotated[bool, typer.Option("--real", help="Load real data from TLC and NOAA.")] = False,
    months: Annotated[str, typer.Option(help="Months to load, such as 2019-03,2019-04.")] = "",
    exit_: Annotated[bool, typer.Option("--exit", help="Exit when done.")] = False,
    model: Annotated[
        str | None, typer.Option(help="Forecast model: seasonal_naive or weather.")
    ] = None,
    service: Annotated[
        Literal["yellow", "green"], typer.Option(help="Taxi service to ingest and train on.")
    ] = "yellow",
    backend: Backend = None,
    dbt: Annotated[bool, typer.Option("--dbt", help="Also build marts with dbt.")] = False,
) -> None:
    """Run the demo: ingest with Airflow, train with Metaflow, show the lineage."""
    from commands.demo import run_demo
    from commands.marts import require_marts
    from lakehouse.sources import parse_months

    if real and data:
        raise SettingsError(f"--real and --data {data} cannot be combined. Use one of them.")
    settings = _settings(
        data_source="real" if real else data, forecast_model=model, lineage_backend=backend
    )
    if dbt:
        require_marts(settings)
    run_demo(settings, parse_months(months), service=service, has_marts=dbt, exit_when_done=exit_)


@app.command(context_settings=PASS_ON)
def test(context: typer.Context) -> None:
    """Run the tests; --fast skips slow ones, --times prints what takes time.

    Options such as -k are passed to pytest.
    """
    from commands.suite import run_tests

    run_tests(context.args)


@app.command()
def wheels(
    folder: Annotated[Path, typer.Argument(help="Folder for the built files.")] = Path("dist"),
) -> None:
    """Build all packages as wheels and source archives; headwater's wheel contains the page."""
    become([str(REPOSITORY / "run"), "wheels", str(folder.absolute())], dict(os.environ))


@app.command()
def lint() -> None:
    """Check formatting, code, types, imports, the Dockerfile and the AWS templates."""
    from commands.environment import script
    from commands.package import find_uv
    from commands.processes import run_together

    tools = [
        [script("ruff"), "format", "--check", "."],
        [script("ruff"), "check", "."],
        [script("lint-imports")],
        [script("mypy")],
        [script("hadolint"), "docker/Dockerfile", "docker/server/Dockerfile"],
        # In a separate environment, because its pinned versions conflict with ours.
        [find_uv(), "tool", "run", "--quiet", "--python", sys.executable, "--from", CHECKOV]
        + ["checkov", "--config-file", "infra/checkov.yaml"],
    ]
    if code := run_together(tools):
        raise typer.Exit(code)


@app.command()
def airflow(backend: Backend = None) -> None:
    """Run Airflow and the lineage server until Ctrl-C."""

    from commands.processes import Service, stopping, wait_for_interrupt
    from commands.progress import Progress
    from commands.services import start_services
    from headwater.console.render import SafeConsole

    settings = _settings(lineage_backend=backend)
    services: list[Service] = []
    with stopping(services):
        with Progress(SafeConsole(keep="\n", highlight=False)) as progress:
            start_services(settings, services, progress)
        say("Press Ctrl-C to stop.")
        wait_for_interrupt(services)


@app.command("training-flow", context_settings=PASS_ON | {"allow_interspersed_args": False})
def training_flow(context: typer.Context, backend: Backend = None) -> None:
    """Run the Metaflow flow: [--backend NAME] run [--lookback_days 30 ...], show, --help."""
    from commands.docker import with_key
    from commands.environment import child_environ
    from commands.services import delivers, lost_lineage_warning, prepare
    from lakehouse.descriptions import FLOW_TAGS

    arguments = context.args
    if arguments[:1] == ["--help"]:
        say(
            "./run training-flow [--backend NAME] runs Metaflow's command line, described below.\n"
            "The backend (docs/how-to/backends.md) receives the lineage. Parameters of the flow: "
            "./run training-flow run --help\n"
        )
    settings = with_key(_settings(lineage_backend=backend))
    if not delivers(settings):  # no server would deliver the flow's lineage
        settings = settings.model_copy(update={"lineage_delivery": "direct"})
    if {"run", "resume"} & set(arguments) and "--help" not in arguments:
        prepare(settings)
        if warning := lost_lineage_warning(settings):
            say(f"{warning} The flow runs anyway.", is_error=True)
    if arguments[:1] in (["run"], ["resume"]):
        arguments = [arguments[0], *FLOW_TAGS, *arguments[1:]]
    os.chdir(REPOSITORY)
    become([sys.executable, str(FLOW), *arguments], child_environ(settings))


@app.command()
def page(
    types: Annotated[
        bool, typer.Option("--types", help="Write web/src/api/schema.ts from the API's schema.")
    ] = False,
) -> None:
    """Build the lineage page if its sources changed."""
    from commands.page import TYPES, ensure_page, write_types

    if types:
        write_types()
        say(f"Wrote {TYPES}.")
    say("Built the page." if ensure_page() else "The page is up to date.")


@app.command()
def docs(
    check: Annotated[
        bool, typer.Option("--check", help="Only build; fail on warnings and broken links.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port of the site.")] = 9005,
) -> None:
    """Build the documentation site and serve it until Ctrl-C."""
    from commands.environment import script

    os.chdir(REPOSITORY)
    site = ["build", "--strict"] if check else ["serve", "--dev-addr", f"localhost:{port}"]
    become([script("mkdocs"), *site], {"NO_MKDOCS_2_WARNING": "1", **os.environ})


@app.command()
def lesson(
    number: Annotated[int, typer.Argument(min=1, max=9, help="Number of the lesson.")],
    check: Annotated[
        bool, typer.Option("--check", help="Check the result; exit code 1 if a part is missing.")
    ] = False,
    reset: Annotated[
        bool, typer.Option("--reset", help="Start again; deletes your files.")
    ] = False,
) -> None:
    """Prepare a lesson of docs/learn/lessons and print it; --check checks the result."""
    from commands.lessons import check_lesson, start_lesson

    if check and reset:
        raise typer.BadParameter("--check and --reset cannot be combined; pass one of them.")
    settings = _unchecked_settings()
    if not check:
        start_lesson(settings, number, reset=reset)
    elif not check_lesson(settings, number):
        raise typer.Exit(1)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="Query in the engine's SQL; tables need no prefix.")],
    engine: Annotated[
        Literal["spark", "athena"],
        typer.Option(help="Query engine: spark (local) or athena (AWS)."),
    ] = "spark",
    profile: Profile = None,
    write: Annotated[
        bool, typer.Option("--write", help="Allow statements that change tables.")
    ] = False,
) -> None:
    """Query the lakehouse tables with Spark or Athena and print the rows.

    Only SELECT, SHOW, DESCRIBE and EXPLAIN are allowed; other statements need --write.
    """
    if engine == "athena":
        from commands.athena import run_athena

        return run_athena(_settings(aws_profile=profile), query, may_write=write)
    from commands.sql import run_sql

    return run_sql(_settings(aws_profile=profile), query, may_write=write)


@app.command(context_settings=PASS_ON)
def lineage(context: typer.Context) -> None:
    """Query the lineage server: tree, search, impact, columns, diff ...; --help lists all."""
    _headwater(context.args)


@app.command(context_settings=PASS_ON)
def harvest(context: typer.Context) -> None:
    """Import lineage from logs and catalogs; the same as `lineage harvest`."""
    _headwater(["harvest", *context.args])


def _headwater(arguments: list[str]) -> NoReturn:
    from commands.docker import with_key
    from commands.environment import script
    from commands.services import command_line_environ

    settings = _unchecked_settings()
    if arguments[:1] != ["serve"]:
        settings = with_key(settings)
    settings.state_dir.mkdir(parents=True, exist_ok=True)  # `serve` does not create it
    become([script("headwater"), *arguments], command_line_environ(settings))


@app.command("proxy-local")
def proxy_local(
    fifo: Annotated[
        bool, typer.Option("--fifo", help="Deliver the events of a run in order.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port; 0 selects a free one.")
    ] = 9004,
) -> None:
    """Run the OpenLineage proxy to DataZone on this machine until Ctrl-C."""
    from commands.proxy import proxy_local as start

    start(_unchecked_settings(), port, is_fifo=fifo)


@app.command("proxy-package")
def proxy_package(
    names: Annotated[
        Path | None, typer.Option(help="File with name rules to include; see docs/how-to/proxy.md.")
    ] = None,
) -> None:
    """Build the zip with the code of the proxy's Lambda functions."""
    from commands.package import package_proxy

    say(package_proxy(_unchecked_settings(), names))


@app.command("emr-package")
def emr_package(profile: Profile = None) -> None:
    """Upload code and jars of the Spark jobs to the bucket, for EMR Serverless."""
    from commands.emr import emr_package as package

    package(_unchecked_settings(aws_profile=profile))


@app.command("create-infra")
def create_infra(
    profile: Profile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    with_: Annotated[
        str, typer.Option("--with", help="Optional parts: datazone, emr-serverless (or both).")
    ] = "",
    parameter: Annotated[
        list[str] | None, typer.Option(help="Template parameter NAME=VALUE; repeatable.")
    ] = None,
) -> None:
    """Create or update the bucket, the Glue database and the role on AWS."""
    from commands.infra import create_infra as create

    create(_unchecked_settings(aws_profile=profile), dry_run, yes, with_, parameter or [])


@app.command("destroy-infra")
def destroy_infra(profile: Profile = None, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Delete everything that create-infra created, with all data, after listing it."""
    from commands.infra import destroy_infra as destroy

    destroy(_unchecked_settings(aws_profile=profile), dry_run, yes)


@app.command("infra-status")
def infra_status(profile: Profile = None) -> None:
    """Show the stacks on AWS and their differences; exit code 0 none, 1 some, 2 unknown."""
    from commands.infra import infra_status as status

    raise typer.Exit(status(_unchecked_settings(aws_profile=profile)))


@app.command("airflow-docker")
def airflow_docker(backend: Backend = None) -> None:
    """Run Airflow, the lineage server, PostgreSQL and the backends in Docker."""
    from commands.docker import airflow_docker as start

    start(_settings(lineage_backend=backend))


@app.command("backend-docker")
def backend_docker(
    backend: Annotated[str, typer.Argument(help="datahub, marquez or openmetadata.")],
    stop: Annotated[bool, typer.Option("--stop", help="Stop it and keep its data.")] = False,
    nuke: Annotated[bool, typer.Option("--nuke", help="Stop it and delete its data.")] = False,
    yes: Yes = False,
) -> None:
    """Start a lineage backend in Docker; --stop stops it."""
    from commands import docker

    if nuke:
        docker.backend_docker_nuke(_unchecked_settings(), backend, yes)
    else:
        docker.backend_docker(_unchecked_settings(), backend, stop=stop)


def _run_alias(context: typer.Context) -> None:
    group = context.parent
    assert group is not None
    assert isinstance(group.command, TyperGroup)
    words = [*ALIASES[str(context.info_name)], *context.args]
    name, command, arguments = group.command.resolve_command(group, words)
    assert command is not None  # ensured by a test
    with command.make_context(name, arguments, parent=group) as target:
        command.invoke(target)


for _alias, _words in ALIASES.items():
    _help = f"Run `./run {' '.join(_words)}`; its --help lists the options."
    app.command(_alias, context_settings=ALIAS, help=_help)(_run_alias)


@app.command()
def status() -> None:
    """Show which services run, and the tables of the lakehouse."""
    from commands.status import show_status

    show_status(_unchecked_settings())


@app.command()
def settings() -> None:
    """List all settings with their values (secrets masked) and sources."""
    from commands.status import show_settings

    show_settings(_unchecked_settings(), _set_options.get())
    _settings()  # reports invalid combinations after listing them


def _settings(**options: str | None) -> Settings:
    """Return the settings after checking the backend."""
    from lakehouse.backends import python_transport

    settings = _unchecked_settings(**options)
    try:
        python_transport(settings)
    except SettingsError as error:
        arguments = {*_set_options.get(), *(name for name, value in options.items() if value)}
        source = source_of("lineage_backend", arguments)
        raise SettingsError(f"LINEAGE_BACKEND ({source}): {error}") from None
    return settings


def _unchecked_settings(**options: str | None) -> Settings:
    """Return the settings; options of the command override `--set`."""
    values = {name: value for name, value in options.items() if value is not None}
    return load_settings(**{**_set_options.get(), **values})


def main() -> None:
    """Run a command in the caller's folder; print expected errors without a traceback."""
    os.chdir(os.environ.get("RUN_FROM", "."))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # runs the clean-up code
    report_old_names()
    try:
        app(prog_name="./run")
    except PipelineError as error:
        sys.exit(escaped(f"Error: {error}", keep="\n"))
    except httpx.HTTPError as error:
        sys.exit(f"Airflow's API failed: {error!r}. See its log in logs/ of the state folder.")
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if not type(error).__module__.startswith("botocore."):
            raise
        message = escaped(str(error).rstrip("."))
        sys.exit(
            f"AWS: {message}. Log in with `aws sso login`, or set AWS_PROFILE or AWS_ACCESS_KEY_ID."
        )
