"""Every setting has the same effect as an option and as a variable."""

from __future__ import annotations

import pytest
from typer.main import get_command

from throughline.cli.main import app
from throughline.config import SETTINGS, resolve
from throughline.errors import ConfigError

VALUES = {
    "host": "0.0.0.0",
    "port": "9100",
    "database": "sqlite:///other.db",
    "spool": "/var/spool/lineage",
    "spool_remove_after": "60",
    "lost_after": "3600",
    "largest_body": "1000",
    "deliver": "/etc/deliver.yaml",
    "alerts": "/etc/alerts.yaml",
    "redact": "off",
    "longest_query": "2.5",
    "api_key": "0123",
    "harvests": "/var/lib/harvests",
    "frame_origins": "http://localhost:9090 https://airflow.example",
    "url": "https://lineage.example",
    "program": "./run lineage",
    "body_memory": "7",
    "body_seconds": "7",
    "most_connections": "7",
    "most_events": "7",
    "running_queries": "7",
    "waiting_queries": "7",
    "start_hint": "./run lineage serve",
}
"""A non-default value of each setting."""


def _options() -> list[tuple[str, str]]:
    commands = get_command(app).commands  # type: ignore[attr-defined]  # of a group
    return [
        (command, setting.name)
        for command in ("serve", "run", "deliver", "tree")
        for setting in SETTINGS
        if any(f"--{setting.name.replace('_', '-')}" in p.opts for p in commands[command].params)
    ]


@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS])
def test_argument_and_variable_give_the_same_settings(name: str) -> None:
    as_argument = resolve({name: VALUES[name]}, {})
    assert as_argument == resolve({}, {f"THROUGHLINE_{name.upper()}": VALUES[name]})
    assert getattr(as_argument, name) != getattr(resolve({}, {}), name)


@pytest.mark.parametrize(("command", "name"), _options())
def test_option_and_variable_give_the_same_settings(command: str, name: str) -> None:
    parser = get_command(app).commands[command]  # type: ignore[attr-defined]  # of a group
    words = [f"--{name.replace('_', '-')}", VALUES[name], *(["x"] if command == "tree" else [])]
    words += ["--", "true"] if command == "run" else []
    given = parser.make_context(command, words).params
    assert resolve({name: given[name]}, {}) == resolve(
        {}, {f"THROUGHLINE_{name.upper()}": VALUES[name]}
    )


@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS])
def test_argument_overrides_variable(name: str) -> None:
    others = {"port": "1", "url": "http://other", "frame_origins": "http://other"}
    other = others.get(name, "1")
    found = resolve({name: VALUES[name]}, {f"THROUGHLINE_{name.upper()}": other})
    assert found == resolve({name: VALUES[name]}, {})
    assert found != resolve({name: other}, {})


@pytest.mark.parametrize("name", [setting.name for setting in SETTINGS])
def test_empty_variable_counts_as_not_set(name: str) -> None:
    assert resolve({}, {f"THROUGHLINE_{name.upper()}": ""}) == resolve({}, {})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("port", "70000"),
        ("lost_after", "soon"),
        ("running_queries", "0"),
        ("url", "localhost"),
        ("frame_origins", "example.org"),
    ],
)
def test_invalid_value_is_reported_with_its_source(name: str, wrong: str) -> None:
    variable = f"THROUGHLINE_{name.upper()}"
    with pytest.raises(ConfigError) as of_argument:
        resolve({name: wrong}, {variable: "1"})
    option = f"--{name.replace('_', '-')}"
    told = f"received {wrong!r}, expected"
    assert str(of_argument.value).startswith(f"{name} (argument {option}): {told}")
    with pytest.raises(ConfigError) as of_variable:
        resolve({}, {variable: wrong})
    source = f"environment variable {variable}"
    assert str(of_variable.value).startswith(f"{name} ({source}): {told}")
