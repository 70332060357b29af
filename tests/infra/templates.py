"""Read CloudFormation templates without cfn-lint, whose import takes seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]


class _Loader(yaml.SafeLoader):
    """Expand the short forms of functions: `!Sub x` is `{"Fn::Sub": "x"}`."""


def _expand(loader: _Loader, tag: str, node: yaml.Node) -> Json:
    name = tag if tag in ("Ref", "Condition") else f"Fn::{tag}"
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    if isinstance(node, yaml.MappingNode):
        return {name: loader.construct_mapping(node, deep=True)}
    value = node.value
    return {name: value.split(".", 1) if tag == "GetAtt" else value}


_Loader.add_multi_constructor("!", _expand)
# A version such as 2012-10-17 is text, not a date.
_Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)


def load_template(path: Path) -> Json:
    """Return a template with its short forms (!Sub) expanded."""
    template: Json = yaml.load(path.read_text(), _Loader)  # a SafeLoader
    return template
