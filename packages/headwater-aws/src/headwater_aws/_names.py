"""Rules that rename datasets, so that DataZone matches them with its assets by ARN.

A rule has patterns for the whole namespace and the whole name, and their replacements. `{group}`
stands for a named group of either pattern, `{account}` for the AWS account. The first matching rule
applies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

from headwater.config import filled, read_yaml
from headwater.errors import ConfigError
from headwater.events.renaming import rename_datasets
from headwater.plugins.delivery.body import Body

BUILT_IN = Path(__file__).with_name("names.yaml")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the file."""

    namespace: str
    name: str
    to_namespace: str
    to_name: str

    def __post_init__(self) -> None:
        """Raise ConfigError for an invalid pattern, or a `{field}` that no pattern captures."""
        allowed = {"account"}
        for key, pattern in (("namespace", self.namespace), ("name", self.name)):
            try:
                allowed |= set(re.compile(pattern).groupindex)
            except re.error as error:
                raise ConfigError(
                    f"{key}: {pattern!r} is not a regular expression: {error}"
                ) from None
        for key, text in (("to_namespace", self.to_namespace), ("to_name", self.to_name)):
            if unknown := _fields(key, text) - allowed:
                raise ConfigError(
                    f"{key}: received {{{', '.join(sorted(unknown))}}}, allowed are the named"
                    f" groups of the patterns and account: {', '.join(sorted(allowed))}"
                )


@dataclass(frozen=True, slots=True)
class _File:
    rules: list[dict[str, str]]


class Names:
    """The rules of a file, applied to events."""

    def __init__(self, rules: list[Rule], account: str) -> None:
        self._account = account
        self._rules = [(re.compile(r.namespace), re.compile(r.name), r) for r in rules]

    def event(self, body: Body) -> Body:
        """Return an event with renamed inputs and outputs, also in their facets."""
        sides = [side for side in ("inputs", "outputs") if side in body]
        return body | {side: rename_datasets(body[side], self.dataset) for side in sides}

    def dataset(self, namespace: str, name: str) -> tuple[str, str]:
        """Return the name of a dataset by the rules."""
        for namespace_pattern, name_pattern, rule in self._rules:
            one, two = namespace_pattern.fullmatch(namespace), name_pattern.fullmatch(name)
            if one and two:
                values = {"account": self._account, **one.groupdict(""), **two.groupdict("")}
                return rule.to_namespace.format_map(values), rule.to_name.format_map(values)
        return namespace, name


def read_names(path: Path, account: str) -> Names:
    """Read the rules of a YAML file. Raises ConfigError."""
    rules_given = filled(_File, read_yaml(path), str(path)).rules
    rules = [
        filled(Rule, rule, f"{path}: rules[{index}]") for index, rule in enumerate(rules_given)
    ]
    return Names(rules, account)


def _fields(key: str, text: str) -> set[str]:
    try:
        return {field for _, field, _, _ in Formatter().parse(text) if field is not None}
    except ValueError as error:
        raise ConfigError(f"{key}: received {text!r}: {error}") from None
