"""Load YAML files of limited size."""

from __future__ import annotations

from math import inf
from pathlib import Path

from headwater_client.errors import ConfigError

__all__ = ["parse_yaml", "read_yaml"]

_DEEPEST_YAML = 100
"""Levels of lists and mappings; the files of settings have at most 6."""
_MOST_YAML_NODES = 100_000
"""Most values that the aliases in another program's file, such as dbt's, may stand for."""


def read_yaml(path: Path, *, as_texts: bool = False) -> object:
    """Load a YAML file like `parse_yaml`. Raises ConfigError."""
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: cannot read the file: {reason}") from None
    return parse_yaml(content, str(path), as_texts=as_texts)


def parse_yaml(
    content: str | bytes, where: str, *, as_texts: bool = False, may_alias: bool = False
) -> object:
    """Load a YAML text; `as_texts` keeps all values as text. Raises ConfigError.

    Aliases are rejected, because a few lines of them can stand for gigabytes. With `may_alias`,
    they may stand for 100,000 values. `where` is for messages.
    """
    import yaml

    try:
        _check_size(content, where, may_alias=may_alias)
        return yaml.load(content, yaml.BaseLoader if as_texts else yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{where}{place}: invalid YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{where}: invalid YAML: {getattr(error, 'reason', error)}") from None


def _check_size(content: str | bytes, where: str, *, may_alias: bool) -> None:
    """Raise ConfigError if a YAML text has too many levels, or aliases that are not allowed.

    An alias counts as many values as the collection of its anchor has.
    """
    import yaml

    anchors: dict[str, float] = {}
    open_: list[tuple[str | None, float]] = []  # anchor of a collection, values before it
    values = 0.0
    for event in yaml.parse(content, yaml.SafeLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_.pop()
            anchors |= {anchor: values - before} if anchor else {}
        elif isinstance(event, yaml.AliasEvent):
            values += anchors.get(str(event.anchor), inf)  # of a collection that contains itself
        elif isinstance(event, yaml.NodeEvent):
            is_scalar = isinstance(event, yaml.ScalarEvent)
            anchors |= {event.anchor: 1} if is_scalar and event.anchor else {}
            open_ += [] if is_scalar else [(event.anchor, values)]
            values += 1
        if problem := _size_problem(event, len(open_), values, may_alias=may_alias):
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise ConfigError(f"{where}, line {line}: {problem}")


def _size_problem(event: object, depth: int, values: float, *, may_alias: bool) -> str | None:
    """Return the problem at an event of a YAML text, None without one.

    `depth` is the number of open lists and mappings, and `values` the number of values so far,
    where an alias counts as all that it stands for: a short text may stand for billions.
    """
    alias = getattr(event, "anchor", None) if type(event).__name__ == "AliasEvent" else None
    if alias and not may_alias:
        return f"received the alias *{alias}, expected its value: aliases are not allowed"
    if alias and values > _MOST_YAML_NODES:
        return f"the aliases stand for more than {_MOST_YAML_NODES:,} values: write values out"
    if depth > _DEEPEST_YAML:
        levels = f"{_DEEPEST_YAML} levels of lists and mappings"
        return f"received more than {levels}, allowed are {_DEEPEST_YAML}"
    return None
