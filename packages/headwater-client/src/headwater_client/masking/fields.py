"""Find secrets in fields of objects, pairs and setters, also in cut-off JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from .names import is_secret_name
from .spans import Span, matches, ordered, replaced
from .values import is_plain, looks_like_name

_QUOTE = r"(?P<q>\\{0,8}['\"])"
_TEXT = r"(?P<text>(?:(?!(?P=q))[^\n]){1,8192}+)"
# "name": "password" and "value": "x", in any order
_FIELD = re.compile(
    r"(?P<brace>[{}])|['\"](?P<field>name|key|option|parameter|(?:string|default|new|raw)?_?values?|default)\\{0,8}['\"]"
    rf"\s{{0,8}}(?::|=>?)\s{{0,8}}{_QUOTE}{_TEXT}",
    re.IGNORECASE,
)
# ["password", "x"] within a list
_PAIR = re.compile(
    r"(?<=[\[,({\s])[\[(]\s{0,8}\\{0,8}['\"](?P<name>[^'\"\\]{1,128})\\{0,8}['\"]\s{0,8},\s{0,8}"
    rf"{_QUOTE}{_TEXT}(?P=q)\s{{0,8}}[\])]"
)
_READS = "(?:get|read|load|fetch|find|has|is|verify|check|hide|hash|encrypt|ask|prompt|secret)"
# setPassword("x") and .password("x")
_SETTER = re.compile(
    rf"(?<![\w.])(?P<name>[\w.)]{{0,128}}?(?:(?:\b|_)(?:set|with|use)_?|\.(?!{_READS}))\w{{0,64}})"
    rf"\(\s{{0,8}}{_QUOTE}{_TEXT}(?P=q)\s{{0,8}}\)",
    re.IGNORECASE,
)
# password: str = "x"
_ANNOTATED = re.compile(
    rf"(?P<name>\w{{1,128}}+)\s{{0,4}}:\s{{0,4}}\w[\w.\[\]| ]{{0,64}}="
    rf"\s{{0,4}}[rbfu]{{0,2}}{_QUOTE}{_TEXT}"
)
# SET PASSWORD FOR 'u'@'h' = 'x'
_SET_PASSWORD = re.compile(
    rf"\bset\s{{1,8}}(?P<name>password)\s{{1,8}}for\s[^=;\n]{{1,128}}?(?:=|\sto)\s{{0,8}}{_QUOTE}{_TEXT}",
    re.IGNORECASE,
)
_PATTERNS = (_PAIR, _SETTER, _ANNOTATED, _SET_PASSWORD)
_VALUES = ("value", "values", "default")
_DEEPEST = 64
_LONGEST = 16_384
"""More characters than any of the patterns matches."""


@dataclass(slots=True)
class _Object:
    is_secret: bool = False
    values: list[Span] = field(default_factory=list)


def mask_fields(text: str, mask: str) -> str:
    """Mask the values of secret names in the fields, pairs and setters of a text."""
    return replaced(text, ordered(_secrets(text)), mask)


def _secrets(text: str) -> Iterator[Span]:
    for begin, stop in chain(_of_fields(text), *(_of_pattern(text, p) for p in _PATTERNS)):
        if not is_plain(text[begin:stop]):
            yield begin, stop


def _of_pattern(text: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    found = matches(pattern, text, _LONGEST)
    return (match.span("text") for match in found if _is_secret(match))


def _is_secret(match: re.Match[str]) -> bool:
    is_pair = match.re is _PAIR
    return is_secret_name(match["name"]) and not (is_pair and looks_like_name(match["text"]))


def _of_fields(text: str) -> Iterator[Span]:
    """Yield the values of the objects whose name is secret."""
    objects = [_Object()]
    for match in matches(_FIELD, text, _LONGEST):
        if match["brace"] == "{":
            objects.append(_Object())
            del objects[:-_DEEPEST]
        elif match["brace"]:
            yield from _values(objects.pop())
            objects = objects or [_Object()]
        elif match["field"].lower().endswith(_VALUES):
            objects[-1].values.append(match.span("text"))
        elif is_secret_name(match["text"]):
            objects[-1].is_secret = True
    for item in objects:
        yield from _values(item)


def _values(item: _Object) -> list[Span]:
    return item.values if item.is_secret else []
