"""Every command of `./run`; each parses, calls, renders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import httpx
import typer
from typer.core import TyperGroup

from commands.output import say
from commands.processes import become
from lakehouse.errors import PipelineError, SettingsError
from lakehouse.settings import REPOSITORY, Settings, load_settings, source_of
from throughline.console.text import escaped

app = typer.Typer(
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
    str | None, typer.Option(help="Where lineage goes: a name of docs/backends.md, or a URL.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
Profile = Annotated[str | None, typer.Option(help="AWS profile (setting aws_profile).")]

_given: ContextVar[dict[str, str]] = ContextVar("_given", default={})  # noqa: B039 - never changed
"""Settings given with `--set`."""


@app.callback()
def _top(
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Set a setting for this command; repeatable."
        ),
    ] = None,
) -> None:
    """Two orchestrators, one lineage."""
    pairs = [pair.partition("=") for pair in given or ()]
    if wrong := [name for name, sign, _ in pairs if not (name and sign)]:
        raise SettingsError(
            f"--set got {wrong[0]!r}; expected NAME=VALUE, such as airflow_port=9091."
        )
    _given.set({name.lower(): value for name, _, value in pairs})


@app.command()
def demo(
    data: Annotated[
        str | None, typer.Option(help="A mirror: path or URL of a folder with taxi/ and weather/.")
    ] = None,
    real: Annotated[bool, typer.Option("--real", help="Load from TLC and NOAA.")] = False,
    months: Annotated[str, typer.Option(help="Months to load: 2019-03,2019-04.")] = "",
    exit_: Annotated[bool, typer.Option("--exit", help="End when done.")] = False,
    model: Annotated[
        str | None, typer.Option(help="What forecasts: seasonal_naive or weather.")
    ] = None,
    service: Annotated[
        Literal["yellow", "green"], typer.Option(help="Taxi service to ingest and train on.")
    ] = "yellow",
    backend: Backend = None,
) -> None:
    """The main job: ingest with Airflow, train with Metaflow, show the lineage."""
    from commands.demo import run_demo
    from lakehouse.sources import parse_months

    if real and data:
        raise SettingsError(f"--real and --data {data} name two sources; give one of them.")
    settings = _settings(
        data_source="real" if real else data, forecast_model=model, lineage_backend=backend
    )
    run_demo(settings, parse_months(months), service=service, exit_when_done=exit_)


@app.command(context_settings=PASS_ON)
def test(context: typer.Context) -> None:
    """All tests; --fast: without Spark, Airflow, servers, replays, browser; -k and so on pass."""
    if "--help" in context.args:
        say("./run test [--fast] runs pytest with its own arguments, below.\n")
    shared_out = ["--numprocesses=logical", "--dist=loadscope", "--no-loadscope-reorder"]
    arguments = list(context.args)
    if "--fast" in arguments:
        arguments.remove("--fast")
        slow = ["spark", "airflow", "server", "metaflow", "postgresql", "browser", "node", "replay"]
        slow.append("docker")
        arguments += ["-m", f"not ({' or '.join(slow)})"]
    else:
        shared_out.append("--maxprocesses=4")  # each may start a Spark driver of gigabytes
    os.chdir(REPOSITORY)
    # Each core runs one process. OpenBLAS threads would only double the CPU time.
    environ = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
    become([sys.executable, "-m", "pytest", *shared_out, *arguments], environ)


@app.command()
def lint() -> None:
    """Format, ruff, mypy, who may import whom, hadolint on the Dockerfile, checkov on templates."""
    from commands.environment import script
    from commands.package import find_uv

    for program, *arguments in (
        [script("ruff"), "format", "--check", "."],
        [script("ruff"), "check", "."],
        [script("lint-imports")],
        [script("mypy")],
        [script("hadolint"), "docker/Dockerfile"],
        # In an environment of its own: what it pins does not go together with ours.
        [find_uv(), "tool", "run", "--quiet", "--python", sys.executable, "--from", CHECKOV]
        + ["checkov", "--config-file", "infra/checkov.yaml"],
    ):
        if code := subprocess.run([program, *arguments], cwd=REPOSITORY).returncode:
            raise typer.Exit(code)


@app.command()
def airflow(backend: Backend = None) -> None:
    """Airflow and the lineage server, until Ctrl-C."""

    from commands.processes import Service, stopping, wait_for_interrupt
    from commands.progress import Progress
    from commands.services import start_services
    from lakehouse.backends import is_embedded
    from throughline.console.render import SafeConsole

    settings = _settings(lineage_backend=backend)
    services: list[Service] = []
    with stopping(services):
        with Progress(SafeConsole(keep="\n", highlight=False)) as progress:
            start_services(settings, services, progress)
        say(f"Airflow  http://localhost:{settings.airflow_port}  (airflow / airflow)")
        lineage = settings.throughline_url if is_embedded(settings) else settings.lineage_backend
        say(f"Lineage  {lineage}\nCtrl-C ends this.")
        wait_for_interrupt(services)


@app.command("training-flow", context_settings=PASS_ON | {"allow_interspersed_args": False})
def training_flow(context: typer.Context, backend: Backend = None) -> None:
    """The Metaflow flow: [--backend NAME] run [--lookback_days 30 ...], show, --help."""
    _training_flow(_settings(lineage_backend=backend), context.args)


@app.command()
def page(
    types: Annotated[
        bool, typer.Option("--types", help="Write web/src/api/schema.ts from the API's document.")
    ] = False,
) -> None:
    """Build the page of the lineage server, if its sources changed."""
    from commands.page import TYPES, ensure_page, write_types

    if types:
        write_types()
        say(f"{TYPES} is written.")
    say("The page is built." if ensure_page() else "The page was built of these sources.")


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="In the engine's SQL; tables need no prefix.")],
    engine: Annotated[
        Literal["spark", "athena"], typer.Option(help="What runs it: here, or on AWS.")
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
    """throughline's command line, on this server: serve, tree, search, impact, columns, diff ..."""
    _throughline(context.args)


@app.command(context_settings=PASS_ON)
def harvest(context: typer.Context) -> None:
    """Bring in lineage that nobody sent; the same as `lineage harvest`."""
    _throughline(["harvest", *context.args])


def _throughline(arguments: list[str]) -> NoReturn:
    from commands.docker import with_key
    from commands.environment import script
    from commands.services import command_line_environ

    settings = _unchecked_settings()
    if arguments[:1] != ["serve"]:
        settings = with_key(settings)
    settings.state_dir.mkdir(parents=True, exist_ok=True)  # `serve` makes no folder but its own
    become([script("throughline"), *arguments], command_line_environ(settings))


@app.command("proxy-local")
def proxy_local(
    fifo: Annotated[
        bool, typer.Option("--fifo", help="Keep the events of a run in order.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = 9004,
) -> None:
    """The OpenLineage proxy to DataZone, on this machine, until Ctrl-C."""
    from commands.proxy import proxy_local as start

    start(_unchecked_settings(), port, is_fifo=fifo)


@app.command("proxy-package")
def proxy_package(
    names: Annotated[
        Path | None, typer.Option(help="Rules of names to take along, as docs/proxy.md has them.")
    ] = None,
) -> None:
    """The code of the proxy's Lambdas as one zip, which the template names."""
    from commands.package import package_proxy

    say(package_proxy(_unchecked_settings(), names))


@app.command("emr-package")
def emr_package(profile: Profile = None) -> None:
    """What the Spark jobs need on EMR Serverless, made and put into the bucket."""
    from commands.emr import emr_package as package

    package(_unchecked_settings(aws_profile=profile))


@app.command("create-infra")
def create_infra(
    profile: Profile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    with_: Annotated[
        str, typer.Option("--with", help="Also datazone, emr-serverless; separated by commas.")
    ] = "",
    parameter: Annotated[
        list[str] | None, typer.Option(help="A parameter of a template: NAME=VALUE; repeatable.")
    ] = None,
) -> None:
    """Make or update the bucket, the Glue database and the role on AWS."""
    from commands.infra import create_infra as create

    create(_unchecked_settings(aws_profile=profile), dry_run, yes, with_, parameter or [])


@app.command("destroy-infra")
def destroy_infra(profile: Profile = None, dry_run: DryRun = False, yes: Yes = False) -> None:
    """Delete what create-infra made, with all data, after listing what will be lost."""
    from commands.infra import destroy_infra as destroy

    destroy(_unchecked_settings(aws_profile=profile), dry_run, yes)


@app.command("infra-status")
def infra_status(profile: Profile = None) -> None:
    """What there is on AWS, what differs from here, what is missing; 0 nothing, 1 something, 2
    unknown."""
    from commands.infra import infra_status as status

    raise typer.Exit(status(_unchecked_settings(aws_profile=profile)))


@app.command("airflow-docker")
def airflow_docker(backend: Backend = None) -> None:
    """Airflow, the lineage server and PostgreSQL in Docker, and the backend beside them."""
    from commands.docker import airflow_docker as start

    start(_settings(lineage_backend=backend))


@app.command("backend-docker")
def backend_docker(
    backend: Annotated[str, typer.Argument(help="datahub, marquez or openmetadata.")],
    stop: Annotated[bool, typer.Option("--stop", help="Stop it and keep its data.")] = False,
    nuke: Annotated[bool, typer.Option("--nuke", help="Stop it and delete its data.")] = False,
    yes: Yes = False,
) -> None:
    """A backend by itself in Docker, until it is stopped."""
    from commands import docker

    if nuke:
        docker.backend_docker_nuke(_unchecked_settings(), backend, yes)
    elif stop:
        docker.backend_docker_stop(_unchecked_settings(), backend)
    else:
        docker.backend_docker(_unchecked_settings(), backend)


def _run_alias(context: typer.Context) -> None:
    group = context.parent
    assert group is not None
    assert isinstance(group.command, TyperGroup)
    words = [*ALIASES[str(context.info_name)], *context.args]
    name, command, arguments = group.command.resolve_command(group, words)
    assert command is not None  # a test holds that every alias names a command
    with command.make_context(name, arguments, parent=group) as target:
        command.invoke(target)


for _alias, _words in ALIASES.items():
    _help = f"Run `./run {' '.join(_words)}`; its --help lists the options."
    app.command(_alias, context_settings=ALIAS, help=_help)(_run_alias)


@app.command()
def status() -> None:
    """What runs, and what the lakehouse holds."""
    from commands.status import show_status

    show_status(_unchecked_settings())


@app.command()
def settings() -> None:
    """Every setting, its value (secrets masked) and where it comes from."""
    from commands.status import show_settings

    show_settings(_unchecked_settings(), _given.get())
    _settings()  # refuses what does not go together, once all of it was shown


def _settings(**options: str | None) -> Settings:
    """Return the settings after checking the backend."""
    from lakehouse.backends import python_transport

    settings = _unchecked_settings(**options)
    try:
        python_transport(settings)
    except SettingsError as error:
        arguments = {*_given.get(), *(name for name, value in options.items() if value)}
        source = source_of("lineage_backend", arguments)
        raise SettingsError(f"LINEAGE_BACKEND ({source}): {error}") from None
    return settings


def _unchecked_settings(**options: str | None) -> Settings:
    """Return the settings; options of the command override `--set`."""
    given = {name: value for name, value in options.items() if value is not None}
    return load_settings(**{**_given.get(), **given})


def _training_flow(settings: Settings, arguments: list[str]) -> NoReturn:
    from commands.docker import with_key
    from commands.environment import child_environ
    from commands.services import delivers, lineage_lost, prepare

    if arguments[:1] == ["--help"]:
        say(
            "./run training-flow [--backend NAME] runs Metaflow's own command line, below.\n"
            "Lineage goes to the backend (docs/backends.md). The flow's parameters: "
            "./run training-flow run --help\n"
        )
    settings = with_key(settings)
    if not delivers(settings):  # nobody would do it for the flow
        settings = settings.model_copy(update={"lineage_delivery": "direct"})
    if {"run", "resume"} & set(arguments) and "--help" not in arguments:
        prepare(settings)
        if lost := lineage_lost(settings):
            say(f"{lost} The flow runs all the same.", is_error=True)
    os.chdir(REPOSITORY)
    become([sys.executable, str(FLOW), *arguments], child_environ(settings))


def main() -> None:
    """Run a command where it was typed; errors meant for people are one message, no traceback."""
    os.chdir(os.environ.get("RUN_FROM", "."))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was begun is cleaned up
    try:
        app(prog_name="./run")
    except PipelineError as error:
        sys.exit(escaped(f"{type(error).__name__}: {error}", keep="\n"))
    except httpx.HTTPError as error:
        sys.exit(f"Airflow's API failed: {error!r}. Its log is in the state folder's logs/.")
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if not type(error).__module__.startswith("botocore."):
            raise
        told = escaped(str(error).rstrip("."))
        sys.exit(f"AWS: {told}. `aws sso login`, AWS_PROFILE or AWS_ACCESS_KEY_ID may be missing.")
