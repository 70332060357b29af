"""Find secrets in fields of objects, pairs and setters, also in cut-off JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise

from .names import is_secret_name
from .spans import Span, matches, replace_spans, sorted_spans
from .values import is_plain, looks_like_name

_QUOTE = r"(?P<q>\\{0,8}['\"])"
# Atomic instead of possessive: before Python 3.11.5, possessive repeats of lookaheads end too late.
_TEXT = r"(?P<text>(?>(?:(?!(?P=q))[^\n]){1,8192}))"
# "name": "password" and "value": "x", in any order
_FIELD = re.compile(
    r"(?P<brace>[{}])|['\"](?P<field>name|key|option|parameter|(?:string|default|new|raw)?_?values?|default)\\{0,8}['\"]"
    rf"\s{{0,8}}(?::|=>?)\s{{0,8}}{_QUOTE}{_TEXT}",
    re.IGNORECASE,
)
# ["password", "x"] within a list
_PAIR = re.compile(
    r"(?<=[\[,({\s])[\[(]\s{0,8}\\{0,8}['\"](?P<name>[^'\"\\]{1,128})\\{0,8}['\"]\s{0,8},\s{0,8}"
    rf"{_QUOTE}{_TEXT}(?:(?P=q)\s{{0,8}}[\])]|(?P=q)?\s{{0,8}}\Z)"
)
_TEXTS = (
    "(?:alias|col|column|columns|debug|drop|error|field|filter|groupBy|info|join|log|print|replace"
)
_TEXTS += "|select|sort|split|sub|warning|where|withColumn|withColumnRenamed)"
# setProperty("password", "x"), Map.entry("password", "x"), Map.of("user", "u", "password", "x")
_CALL = re.compile(
    rf"\b(?!{_TEXTS}\()\w{{1,64}}\((?:\s{{0,8}}\\{{0,8}}['\"][^'\"\n\\]{{0,512}}(?:\\{{0,8}}['\"]\s{{0,8}},?|\Z)){{2,16}}"
)
_QUOTED = re.compile(r"['\"](?P<text>[^'\"\n\\]{0,512})(?:\\{0,8}['\"]|\Z)")
# new PasswordAuthentication("u", "x".toCharArray()) and AwsBasicCredentials.create(key, "x")
_LOGIN = re.compile(
    r"\b(?P<login>\w{0,64}(?:credentials?|authentication)(?:\.(?:create|basic|of|from))?)"
    rf"\([^()\n]{{1,512}},\s{{0,8}}{_QUOTE}{_TEXT}(?:(?P=q)(?:\.\w{{1,32}}\(\))?\s{{0,8}}\)|(?P=q)?[\w.()]{{0,32}}\Z)",
    re.IGNORECASE,
)
# name=password value=x, and - name: PASSWORD with value: x on the next line
_UNQUOTED = re.compile(
    r"\b(?:name|key)\s?[=:]\s?(?P<name>[\w.-]{1,128})[,;\s]\s{0,16}value\s?[=:]\s?\\{0,8}['\"]?"
    r"(?P<text>[^\s,;'\"<>\\]{1,512})",
    re.IGNORECASE,
)
# <entry key="password">x</entry>, <p name="password" value="x"/>, <name>password</name><value>x
_XML = re.compile(
    r"<(?:\w{1,32}\s{1,8}(?:key|name)=\\{0,8}['\"](?P<name>[^'\"<>\\]{1,128})\\{0,8}['\"]"
    r"(?:\s{0,8}>|\s{1,8}value=\\{0,8}['\"])|name>(?P<key>[^<>]{1,128})</name>\s{0,64}<value>)"
    r"(?P<text>[^<>'\"\\]{1,1024})"
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
_PATTERNS = (
    *(_PAIR, _SETTER, _ANNOTATED, _SET_PASSWORD),
    *(_LOGIN, _UNQUOTED, _XML),
)
_VALUES = ("value", "values", "default")
_DEEPEST = 64
_LONGEST = 16_384
"""More characters than any match of the patterns has."""


@dataclass(slots=True)
class _Object:
    is_secret: bool = False
    values: list[Span] = field(default_factory=list)


def mask_fields(text: str, mask: str) -> str:
    """Mask the values of secret names in the fields, pairs and setters of a text."""
    return replace_spans(text, sorted_spans(_secrets(text)), mask)


def _secrets(text: str) -> Iterator[Span]:
    for begin, stop in chain(
        _in_fields(text), _in_calls(text), *(_in_pattern(text, p) for p in _PATTERNS)
    ):
        if not is_plain(text[begin:stop]):
            yield begin, stop


def _in_pattern(text: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    """Return the values of secret names in the matches of a pattern."""
    all_matches = matches(pattern, text, _LONGEST)
    return (match.span("text") for match in all_matches if _is_secret(match))


def _in_calls(text: str) -> Iterator[Span]:
    """Yield the arguments that follow a secret name, unless they may be names themselves."""
    for call in matches(_CALL, text, _LONGEST):
        arguments = _QUOTED.finditer(text, *call.span())
        for name, value in pairwise(arguments):
            if is_secret_name(name["text"]) and not looks_like_name(value["text"]):
                yield value.span("text")


def _is_secret(match: re.Match[str]) -> bool:
    if match.re is _LOGIN:
        return True
    name = match["name"] or match.groupdict().get("key") or ""
    is_pair = match.re is _PAIR
    return is_secret_name(name) and not (is_pair and looks_like_name(match["text"]))


def _in_fields(text: str) -> Iterator[Span]:
    """Yield the values of the objects whose name is secret: `{"name": "password", "value": "x"}`.

    A match of `_FIELD` is a brace, or a field such as `name` or `value` with its text. The name may
    follow the value, so the values of an object are only yielded at its end.
    """
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
