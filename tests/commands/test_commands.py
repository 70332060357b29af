from __future__ import annotations

import io
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.core import TyperGroup
from typer.main import get_command

from commands.airflow_api import TaskInstance, _log_line
from commands.cli import ALIASES, app
from commands.demo import default_months
from commands.demo_output import lineage_command
from commands.processes import Service, require_free_ports, wait_for_interrupt
from commands.progress import Progress
from commands.services import EVERY_DAG, WEATHER_DAG, _locks, lock_state, taxi_dag, train_dag
from commands.status import show_settings, show_status
from lakehouse.errors import PipelineError, SettingsError, SetupError
from lakehouse.settings import REPOSITORY, Settings, load_settings
from metaflow_flows.train_forecast_model.tables import SERVICES
from tests.pipeline.conftest import free_ports


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [REPOSITORY / "run", *arguments], capture_output=True, text=True, check=False
    )


def listed() -> dict[str, str]:
    lines = [line for line in run().stdout.splitlines()[1:] if line.strip()]
    return {line.split()[0]: " ".join(line.split()[1:]) for line in lines}


def test_run_without_arguments_lists_all_commands() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]  # a click group has them
    assert set(listed()) == set(commands)
    assert all(listed().values())
    assert all(command.help for command in commands.values())


@pytest.mark.parametrize("alias", ALIASES)
def test_alias_help_shows_the_existing_command(alias: str) -> None:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    name, *arguments = ALIASES[alias]
    context = group.make_context("./run", ["--help"], resilient_parsing=True)
    group.commands[name].make_context(name, list(arguments), parent=context)  # parses them
    expansion = " ".join(ALIASES[alias])
    assert listed()[alias] == f"Short for {expansion}"
    assert f"`./run {expansion}`" in str(group.commands[alias].help)


def test_alias_passes_arguments_and_settings_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = []
    monkeypatch.setattr(
        "commands.docker.backend_docker_nuke",
        lambda settings, backend, yes: called.append((settings.airflow_port, backend, yes)),
    )
    arguments = ["--set", "airflow_port=9091", "datahub-docker-nuke", "--yes"]
    app(arguments, standalone_mode=False)
    assert called == [(9091, "datahub", True)]


def test_unknown_command_lists_the_existing_ones() -> None:
    done = run("dmeo")
    assert done.returncode == 2
    assert "no command 'dmeo'. Did you mean 'demo'?" in done.stderr
    assert all(name in done.stderr for name in listed())


def test_reference_describes_every_command() -> None:
    reference = (REPOSITORY / "docs/reference/commands.md").read_text()
    for name in listed():
        assert re.search(rf"`[^`]*{re.escape(name)}", reference), name


@pytest.mark.server
def test_lineage_help_shows_the_entered_command() -> None:
    command = [sys.executable, "-m", "commands", "lineage", "tree", "--help"]
    completed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert completed.stdout.startswith("Usage: ./run lineage tree")
    assert "Example: ./run lineage tree" in completed.stdout


def test_demo_prints_commands_for_its_own_lineage_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = load_settings()
    assert lineage_command(settings) == "./run lineage"
    other = settings.headwater_port + 1
    moved = load_settings(headwater_port=other)
    assert lineage_command(moved) == f"HEADWATER_PORT={other} ./run lineage"
    monkeypatch.setenv("HEADWATER_PORT", str(other))  # which another terminal need not have
    assert lineage_command(moved) == f"HEADWATER_PORT={other} ./run lineage"
    assert lineage_command(settings) == "./run lineage"


@pytest.mark.server
def test_settings_are_listed_despite_an_invalid_combination() -> None:
    command = [sys.executable, "-m", "commands", "settings"]
    completed = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=os.environ | {"LINEAGE_BACKEND": "marqez"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "headwater_port = " in completed.stdout
    assert (completed.returncode, "not a lineage backend" in completed.stderr) == (1, True)


def test_all_used_ports_are_reported_with_their_settings() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as first,
        socket.create_server(("127.0.0.1", 0)) as second,
    ):
        ports = [used.getsockname()[1] for used in (first, second)]
        with pytest.raises(SetupError) as caught:
            require_free_ports(
                [
                    (ports[0], "Airflow", "AIRFLOW_PORT"),
                    (free_ports(1), "a gateway", "GATEWAY_PORT"),
                    (ports[1], "the lineage server", "HEADWATER_PORT"),
                ]
            )
    airflow, lineage = str(caught.value).splitlines()
    assert re.search(rf"Port {ports[0]} for Airflow .*AIRFLOW_PORT=<port>", airflow)
    assert re.search(rf"Port {ports[1]} for the lineage .*HEADWATER_PORT=<port>", lineage)


@pytest.mark.server
def test_stop_ends_processes_with_new_sessions_or_titles(
    tmp_path: Path,
) -> None:
    program = (
        "import subprocess, sys, signal\n"
        "end = 'import os, signal; os.write(1, b\"1\"); signal.pause()'\n"
        "titled = 'import setproctitle; setproctitle.setproctitle(\"airflow worker\");' + end\n"
        "subprocess.Popen([sys.executable, '-c', end], start_new_session=True)\n"
        "subprocess.Popen([sys.executable, '-c', titled])\n"
        "signal.pause()\n"
    )
    log = tmp_path / "service.log"
    service = Service("it", [[sys.executable, "-c", program]], {}, log)
    service.wait_until(lambda: log.read_text() == "11", 30)
    assert len(service.processes()) == 3
    service.stop()
    assert service.processes() == []


@pytest.mark.server
def test_failed_start_shows_the_end_of_the_log(tmp_path: Path) -> None:
    program = "raise SystemExit('no luck today')"
    service = Service("It", [[sys.executable, "-c", program]], {}, tmp_path / "it.log")
    with pytest.raises(SetupError, match=r"It ended unexpectedly(.|\n)*no luck today"):
        service.wait_until(lambda: False, 30)
    service.stop()


@pytest.mark.server
def test_service_exit_while_waiting_for_ctrl_c_is_an_error(tmp_path: Path) -> None:
    program = "import sys; sys.stdin.read(); raise SystemExit('killed by hand')"
    service = Service("It", [[sys.executable, "-c", program]], {}, tmp_path / "it.log")
    with pytest.raises(SetupError, match=r"It ended unexpectedly(.|\n)*killed by hand"):
        wait_for_interrupt([service])
    service.stop()


def test_progress_stays_on_screen_after_a_failure() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    task: TaskInstance = {
        "task_id": "load",
        "state": "failed",
        "start_date": None,
        "end_date": None,
        "try_number": 1,
    }
    with suppress(SetupError), Progress(console) as progress, progress.stage("Ingest"):
        progress.show("dag", [task])
        raise SetupError("no")
    last = screen.getvalue().rsplit("\x1b[2K", 1)[-1]
    assert "load" in last


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("demo", "--real", "--data", "x"), "--real and --data x cannot be combined"),
        (("demo", "--backend", "marqez"), "'marqez' is not a lineage backend; allowed: embedded,"),
        (("demo", "--backend", "datazone"), "requires DATAZONE_DOMAIN_ID"),
        (("demo", "--months", "2999-01"), "2999-01 has not begun"),
        (
            ("demo", "--model", "wether"),
            "FORECAST_MODEL (argument): Input should be 'seasonal_naive' or",
        ),
    ],
)
def test_invalid_request_is_reported_before_the_start(
    arguments: tuple[str, ...], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATE_DIR", str(tmp_path / "state"))
    with pytest.raises(PipelineError, match=re.escape(expected)):
        app(arguments, standalone_mode=False)
    assert not (tmp_path / "state" / "logs").exists()
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN


@pytest.mark.server
@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--backend", "http://127.0.0.1:9", "The lineage backend at http://127.0.0.1:9"),
        ("--data", "no/such", "There is no folder {folder}/no/such"),
    ],
)
def test_error_is_one_message_with_paths_relative_to_the_caller(
    option: str, value: str, expected: str, tmp_path: Path
) -> None:
    port = free_ports(2)
    done = subprocess.run(
        [REPOSITORY / "run", "demo", option, value],
        cwd=tmp_path,
        env=os.environ
        | {"STATE_DIR": "state", "LINEAGE_DELIVERY": "direct"}
        | {"AIRFLOW_PORT": str(port), "HEADWATER_PORT": str(port + 1)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert expected.format(folder=tmp_path) in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "state" / "logs").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("demo", "--service", "red"), "'red' is not one of 'yellow', 'green'."),
        (("lesson", "99"), "received '99', expected less than or equal to 9"),
        (("docs", "--port", "x"), "received 'x', expected a valid integer"),
    ],
)
def test_invalid_option_error_contains_the_value(arguments: tuple[str, ...], expected: str) -> None:
    with pytest.raises(typer.BadParameter) as error:
        app(arguments, standalone_mode=False)
    assert error.value.message == expected


@pytest.mark.server
def test_unknown_service_lists_the_allowed_ones(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "commands", "demo", "--service", "red"]
    environ = os.environ | {"STATE_DIR": str(tmp_path / "state"), "RUN_FROM": str(REPOSITORY)}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "'red' is not one of 'yellow', 'green'" in " ".join(done.stderr.split())
    assert not (tmp_path / "state").exists()


@pytest.mark.server
def test_demo_applies_its_options_and_stops_with_exit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    services: list[Service] = []
    months = {taxi_dag("green"): ["2025-05"], WEATHER_DAG: ["2025-05"]}

    def start(settings: Settings, running: list[Service], _: Progress) -> str:
        assert settings.forecast_model == "weather"
        waiting = [sys.executable, "-c", "import time; time.sleep(600)"]
        services.append(Service("Airflow", [waiting], dict(os.environ), tmp_path / "log"))
        running += services
        return "airflow"

    def run_dags(_: Settings, airflow: str, __: Progress, *of: object, service: str) -> list[str]:
        assert (airflow, of, service) == ("airflow", (months,), "green")
        return ["No new weather was loaded."]

    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    monkeypatch.setenv("LINEAGE_BACKEND", "none")
    monkeypatch.setattr("commands.demo.start_services", start)
    monkeypatch.setattr("commands.demo.run_dags", run_dags)
    monkeypatch.setattr(
        "commands.demo.show_result",
        lambda console, _, service, **__: console.print(f"forecasts of {service}"),
    )
    options = ("--service", "green", "--model", "weather", "--months", "2025-05", "--exit")
    app(("demo", *options), standalone_mode=False)
    printed = capsys.readouterr().out
    for text in ("green taxis, 2025-05", "No new weather", "of green", "Stopped because of --exit"):
        assert text in printed
    assert "http://" not in printed  # of services that do not run any more
    with pytest.raises(SetupError, match="Airflow ended"):
        services[0].check()


def test_every_demo_service_has_dags() -> None:
    files = {path.stem for path in (REPOSITORY / "airflow/dags").glob("*.py")}
    for service in SERVICES:
        assert {taxi_dag(service), train_dag(service)} <= files
    assert files >= set(EVERY_DAG)


def test_status_without_tables_creates_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_status(load_settings(state_dir=tmp_path / "state", airflow_port=1, headwater_port=2))
    assert "There are no tables yet. `./run demo` creates them." in capsys.readouterr().out
    assert not (tmp_path / "state").exists()


def test_settings_are_listed_with_their_descriptions(capsys: pytest.CaptureFixture[str]) -> None:
    show_settings(load_settings(airflow_port=9091))
    listed = capsys.readouterr().out.splitlines()
    at = listed.index("airflow_port = 9091  (argument)")
    assert listed[at + 1] == "    Port of Airflow's UI and API."


def test_default_months_are_the_newest_of_the_mirror(tmp_path: Path) -> None:
    folder = tmp_path / "taxi" / "trip-data"
    folder.mkdir(parents=True)
    with pytest.raises(SettingsError, match=r"has no yellow_tripdata_YYYY-MM\.parquet"):
        default_months(load_settings(data_source=str(tmp_path)))
    with pytest.raises(SettingsError, match=r"has no green_tripdata_YYYY-MM\.parquet"):
        default_months(load_settings(data_source=str(tmp_path)), "green")
    (folder / "green_tripdata_2023-02.parquet").touch()
    assert default_months(load_settings(data_source=str(tmp_path)), "green") == ["2023-02"]
    for month in ("2019-03", "2018-12", "2019-04"):
        (folder / f"yellow_tripdata_{month}.parquet").touch()
    assert default_months(load_settings(data_source=str(tmp_path))) == ["2019-03", "2019-04"]


def test_default_months_of_a_remote_source_are_left_to_the_dag(
    settings: Settings,
) -> None:
    assert default_months(load_settings(data_source="real")) == []
    assert default_months(settings) == ["2025-04", "2025-05"]


def test_failed_task_log_contains_airflows_separate_exception() -> None:
    detail = [{"exc_type": "BadSourceFile", "exc_value": "x cannot be reached"}]
    line = {"event": "Task failed with exception", "error_detail": detail}
    assert _log_line(line) == "Task failed with exception\nBadSourceFile: x cannot be reached"
    assert _log_line({"event": "fine", "error_detail": None}) == "fine"


@pytest.mark.server
def test_second_airflow_on_a_state_folder_is_rejected(
    settings: Settings,
) -> None:
    program = (
        "import sys; from pathlib import Path; from commands.services import lock_state\n"
        "from lakehouse.settings import load_settings\n"
        "lock_state(load_settings(state_dir=Path(sys.argv[1]))); print('has it', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(settings.state_dir)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=REPOSITORY, text=True, stdin=pipe, stdout=pipe) as first:
        assert first.stdout
        assert first.stdout.readline() == "has it\n"
        with pytest.raises(SetupError, match=r"already uses .*Airflow at http://localhost:9090"):
            lock_state(settings)
        first.communicate("")
    lock_state(settings)
    _locks.pop().close()
