"""Every setting has the same effect as an option and as a variable."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from headwater.cli import command_line
from headwater.config import parse_yaml
from headwater.errors import ConfigError
from headwater.settings import Settings, resolve, variable_of
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.generated_docs import table

VALUES = {
    "host": "0.0.0.0",
    "port": "9100",
    "database": "sqlite:///other.db",
    "spool": "/var/spool/lineage",
    "spool_remove_after": "60",
    "lost_after": "3600",
    "largest_body": "1000",
    "largest_event": "1000",
    "deliver": "/etc/deliver.yaml",
    "keep": "30d",
    "horizon": "400d",
    "alerts": "/etc/alerts.yaml",
    "redact": "off",
    "longest_query": "2.5",
    "api_key": "0123",
    "kafka": "kafka-1:9092,kafka-2:9092",
    "kafka_topics": "lineage",
    "kafka_group": "lineage",
    "kafka_properties": "/etc/kafka.yaml",
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
    "answer_memory": "7",
    "start_hint": "./run lineage serve",
}
"""A non-default value of each setting."""


NAMES = tuple(Settings.model_fields)
_DOC = Path(__file__).resolve().parents[4] / "docs/reference/server.md"
_START, _END = "<!-- settings -->", "<!-- end of settings -->"
_COMMANDS = command_line().commands


def _options() -> list[tuple[str, str]]:
    return [
        (command, name)
        for command in ("serve", "run", "deliver", "tree")
        for name in NAMES
        if any(_option_of(name) in p.opts for p in _COMMANDS[command].params)
    ]


def _option_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@pytest.mark.parametrize("name", NAMES)
def test_argument_and_variable_give_the_same_settings(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    default, as_argument = resolve(), resolve({name: VALUES[name]})
    monkeypatch.setenv(variable_of(name), VALUES[name])
    assert as_argument == resolve()
    assert getattr(as_argument, name) != getattr(default, name)


@pytest.mark.parametrize(("command", "name"), _options())
def test_option_and_variable_give_the_same_settings(
    command: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [_option_of(name), VALUES[name], *(["x"] if command == "tree" else [])]
    words += ["--", "true"] if command == "run" else []
    parsed = _COMMANDS[command].make_context(command, words).params
    as_option = resolve({name: parsed[name]})
    monkeypatch.setenv(variable_of(name), VALUES[name])
    assert as_option == resolve()


@pytest.mark.parametrize("name", NAMES)
def test_argument_overrides_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {"port": "1", "keep": "1d", "horizon": "1d"}
    others |= dict.fromkeys(("url", "frame_origins"), "http://other")
    other = others.get(name, "1")
    expected = resolve({name: VALUES[name]})
    monkeypatch.setenv(variable_of(name), other)
    assert resolve({name: VALUES[name]}) == expected
    assert resolve() != expected


@pytest.mark.parametrize("name", NAMES)
def test_empty_variable_counts_as_not_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    default = resolve()
    monkeypatch.setenv(variable_of(name), "")
    assert resolve() == default


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
def test_invalid_value_is_reported_with_its_source(
    name: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable_of(name), "1")
    with pytest.raises(ConfigError) as of_argument:
        resolve({name: wrong})
    message = f"received {wrong!r}, expected"
    assert str(of_argument.value).startswith(f"{name} (argument {_option_of(name)}): {message}")
    monkeypatch.setenv(variable_of(name), wrong)
    with pytest.raises(ConfigError) as of_variable:
        resolve()
    source = f"environment variable {variable_of(name)}"
    assert str(of_variable.value).startswith(f"{name} ({source}): {message}")


def test_argument_of_none_counts_as_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWATER_PORT", "1234")
    assert (resolve({"port": None}).port, resolve({"port": 5}).port) == (1234, 5)


def test_api_key_is_not_shown() -> None:
    assert "hunter2" not in repr(resolve({"api_key": "hunter2"}))


def test_documented_settings_come_from_the_model() -> None:
    head, rest = _DOC.read_text().split(_START)
    _, tail = rest.split(_END)
    options = {
        option for command in _COMMANDS.values() for p in command.params for option in p.opts
    }
    rows = []
    for name, field in Settings.model_fields.items():
        option = f"`{_option_of(name)}`" if _option_of(name) in options else ""
        default = "" if field.default in (None, "", (), Path()) else f"`{field.default}`"
        rows.append((option, f"`{variable_of(name)}`", default, field.description))
    written = table(("option", "variable", "default", "meaning"), rows)
    expected = f"{head}{_START}\n{written}{_END}{tail}"
    if os.environ.get("WRITE_DOCS"):
        _DOC.write_text(expected)
    assert _DOC.read_text() == expected, "run this test with WRITE_DOCS=1 to write the table"


_BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


_READERS: dict[str, tuple[str, ...]] = {
    "contract": ("check", "FILE"),
    "policy": ("gate", "x", "--policy", "FILE"),
    "lineage": ("run", "-f", "FILE", "--", "true"),
    "deliver": ("deliver", "--config", "FILE", "--once"),
    "alerts": ("serve", "--alerts", "FILE", "--database", "sqlite://"),
    "redact": ("ingest", "missing.jsonl"),
}
"""The command that reads each kind of file; `redact` is a variable."""


_ALIASED = "line 2: received the alias *a, expected its value: aliases are not allowed"
_NESTED = "line 1: received more than 100 levels of lists and mappings"


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        *((reader, _BOMB, _ALIASED) for reader in _READERS),
        ("contract", "[" * 20_000, _NESTED),
        ("policy", "a: {" * 20_000, _NESTED),
    ],
    ids=lambda value: value[:8],
)
def test_yaml_with_aliases_or_deep_nesting_is_rejected(
    reader: str, text: str, message: str, tmp_path: Path, call: Call, monkeypatch: Any
) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    if reader == "redact":
        monkeypatch.setenv("HEADWATER_REDACT", str(path))
    monkeypatch.setenv("HEADWATER_DATABASE", f"sqlite:///{tmp_path / 'log.db'}")
    done = call(*(str(path) if word == "FILE" else word for word in _READERS[reader]))
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def _doubled(times: int) -> str:
    lines = [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, times + 1)]
    return "\n".join(["a0: &a0 x", *lines])


@pytest.mark.parametrize(
    ("text", "is_allowed"),
    [
        ("a: &a {x: 1}\nb: {<<: *a}\nc: [*a, *a]", True),
        (_doubled(8), True),
        (_doubled(18), False),
        ("a: &a [*a]", False),
    ],
)
def test_aliases_of_other_programs_are_bounded(text: str, is_allowed: bool) -> None:
    if is_allowed:
        assert parse_yaml(text, "dbt_project.yml", may_alias=True)
        return
    with pytest.raises(ConfigError, match="the aliases stand for more than 100,000 values"):
        parse_yaml(text, "dbt_project.yml", may_alias=True)
