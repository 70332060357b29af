"""The references of the API and of the command line in docs/, generated from the program itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args

from annotated_types import Ge, Le
from typer.core import TyperGroup

from headwater.cli import command_line
from headwater.log import EventLog
from headwater.projection.live import Live
from headwater.query.registry import load_queries
from headwater.server.app import make_app
from headwater.server.openapi import document
from headwater_client.run import argument_parser
from packages.headwater.tests.support.generated_docs import check_written, table

_API = """# HTTP API

Generated from `/openapi.json` by `packages/headwater/tests/cli/test_reference.py`. `/api/v1` is
Marquez's API and receives events; `/api/v2` extends it and rejects unknown query parameters. Lists
without a limit are paged: `next` is the `cursor` of the next page, null on the last one. Every
field is described in `/openapi.json`.

"""
_CLI = """# Command line

Generated from `headwater --help` by `packages/headwater/tests/cli/test_reference.py`.

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | nothing found, a violated contract or policy, a problem, a rejected or undelivered event |
| 2 | wrong usage: an option, a time, a setting or a file that is invalid |
| 3 | no server, no database, or an API key that is not accepted |

"""
_COMMON = ("url", "database", "api_key", "as_json", "help")
"""Options of nearly every command, described once."""


def test_api_reference_lists_every_endpoint_as_documented() -> None:
    log = EventLog("sqlite://")
    openapi = document(make_app(Live(log)))
    log.close()
    parts = [
        _endpoint(method, path, operation)
        for path, item in openapi["paths"].items()
        for method, operation in item.items()
    ]
    check_written("docs/reference/api.md", _API + "\n".join(parts))


def _endpoint(method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [f"## {method.upper()} {path}\n", operation["description"] + "\n"]
    rows = [
        (f"`{parameter['name']}`", _type(parameter["schema"]), parameter["description"])
        for parameter in operation["parameters"]
        if parameter["in"] != "header"
    ]
    if rows:
        parts.append(table(("parameter", "type", "description"), rows))
    model = _model(operation)
    if model:
        parts.append(f"Returns {model}.\n")
    return "\n".join(parts)


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(
            _type(option) for option in schema["anyOf"] if option != {"type": "null"}
        )
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    return str(schema.get("type", "any"))


def _model(operation: dict[str, Any]) -> str:
    for code in ("200", "201"):
        content = operation["responses"].get(code, {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if schema:
            return _model_name(schema)
    return ""


def _model_name(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(map(_model_name, schema["anyOf"]))
    if schema.get("type") == "array":
        return f"a list of {_model_name(schema['items'])}"
    return f"`{schema['$ref'].rsplit('/', 1)[1].strip('_')}`"


def test_command_reference_lists_every_command_as_its_help() -> None:
    group: Any = command_line()
    parts = [_common(group), *(_command(name, command) for name, command in _commands(group))]
    check_written("docs/reference/cli.md", _CLI + "\n".join(parts))


def _commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    context: Any = None
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, TyperGroup):
            yield from _commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def _common(group: Any) -> str:
    tree = group.commands["tree"]
    rows = [_option(option) for option in tree.params if option.name in _COMMON]
    head = "Options of every command that queries a server or a log:\n\n"
    return head + table(("option", "description"), rows)


def _command(name: str, command: Any) -> str:
    rows = [_option(option) for option in command.params if option.name not in _COMMON]
    if name == "run":  # headwater-client parses its options
        actions = [action for action in argument_parser()._actions if action.dest != "help"]
        rows = [
            (
                ", ".join(f"`{text}`" for text in action.option_strings or ["COMMAND"]),
                str(action.help),
            )
            for action in actions
        ]
    parts = [f"## headwater {name}\n", inspect.cleandoc(command.help or "") + "\n"]
    if rows:
        parts.append(table(("argument or option", "description"), rows))
    return "\n".join(parts)


def _option(option: Any) -> tuple[str, str]:
    is_option = option.opts[0].startswith("-")
    names = (
        (*option.opts, *option.secondary_opts)
        if is_option
        else (option.metavar or option.opts[0].upper(),)
    )
    return ", ".join(f"`{name}`" for name in names), str(getattr(option, "help", None) or "")


def test_options_of_query_commands_are_those_of_their_queries() -> None:
    checked = set()
    for name, command in command_line().commands.items():
        query, names = getattr(command.callback, "query", (None, {}))
        if query is None:
            continue
        parameters = {item.name: item for item in load_queries()[query].parameters}
        checked.add(name)
        for option in command.params:
            if option.name in ("url", "database", "api_key", "as_json"):
                continue
            parameter = parameters[names.get(option.name, option.name)]
            is_required = parameter.default is parameter.empty
            bounds = {type(item): item for item in get_args(parameter.annotation)[1:]}
            expected = (
                is_required,
                None if is_required else parameter.default,
                bounds[Ge].ge if Ge in bounds else None,
                bounds[Le].le if Le in bounds else None,
            )
            found = (option.required, option.default, option.min, option.max)
            assert found == expected, (name, option.name)
    assert {"impact", "timeline", "drift", "freshness"} <= checked
