"""Mask secrets before an event is stored; everything else stays unchanged.

`use_rules`, called once when a process starts, adds rules or turns masking off.

The rules are conservative: a value is masked only if its key marks it as secret, or if its format
is unambiguous. A column named `token` keeps its name, and an SQL query keeps its meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from throughline.config import filled, read_yaml
from throughline.errors import ConfigError
from throughline.redaction.forms import GROUPS
from throughline.redaction.rules import MASK, Group, compiled
from throughline.redaction.words import PASSWORD_KEY, PLAIN, SECRET_KEY


class _Rules(NamedTuple):
    """The active rules: keys of secret values, and patterns besides the built-in ones."""

    key: str
    more: tuple[re.Pattern[str], ...] = ()


@dataclass(frozen=True, slots=True)
class _File:
    keys: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)


_DEFAULT = _Rules(SECRET_KEY)
_rules: _Rules | None = _DEFAULT


def use_rules(setting: str) -> None:
    """Apply the setting `redact`: empty, `off`, or a YAML file with more `keys` and `patterns`.

    Both are lists of case-insensitive regular expressions. `keys` match the end of keys with
    secret values; `patterns` match secrets in any text.

    Raises:
        ConfigError: the file cannot be read or has another structure.
    """
    global _rules
    if not setting or setting == "off":
        _rules = None if setting else _DEFAULT
        return
    file = filled(_File, read_yaml(Path(setting)), setting)
    for text in (*file.keys, *file.patterns):
        try:
            re.compile(text)
        except re.error as error:
            raise ConfigError(
                f"{setting}: received {text!r}, expected a regular expression: {error}"
            ) from None
    key = "|".join([SECRET_KEY, *(f"(?:{key})$" for key in file.keys)])
    _rules = _Rules(key, tuple(re.compile(text, re.IGNORECASE) for text in file.patterns))


_GROUPS_OF: dict[bytes, list[Group]] = {}
for _group in GROUPS:
    for _marker in _group.markers:
        _GROUPS_OF.setdefault(_marker.encode(), []).append(_group)
# An escaped character, as in "p\u0061ssword", could be part of any marker.
_ESCAPE = b"\\u00"
_MARKERS = (*_GROUPS_OF, _ESCAPE)
_FINDER = BytesAhoCorasick(_MARKERS, implementation=Implementation.DFA)
_PART = 65_536
_OVERLAP = max(map(len, _MARKERS)) - 1
_ORDER = {group: index for index, group in enumerate(GROUPS)}


def _markers_in(lower: bytes) -> set[int]:
    """Return the markers that a text contains; search in parts to limit memory."""
    found: set[int] = set()
    for start in range(0, len(lower), _PART):
        part = lower if len(lower) <= _PART else lower[start : start + _PART + _OVERLAP]
        found |= {match[0] for match in _FINDER.find_matches_as_indexes(part, overlapping=True)}
    return found


def is_suspicious(raw: bytes) -> bool:
    """Return True if raw JSON may contain a secret; this quick check suffices for most events."""
    if _rules is not _DEFAULT:
        return _rules is not None
    lower = raw.lower()
    for index in _markers_in(lower):
        groups = _GROUPS_OF.get(_MARKERS[index])
        if groups is None or any(group.may_match(lower) for group in groups):
            return True
    return False


def redact_text(text: str) -> str:
    """Mask the secrets in a text: passwords in URLs, SQL and options, keys and tokens."""
    if _rules is None:
        return text
    for group in _groups(text):
        text = group.mask(text)
    for pattern in _rules.more:
        text = pattern.sub(MASK, text)
    return text


def _groups(text: str) -> list[Group]:
    """Return the groups whose markers a text contains."""
    found = _markers_in(text.lower().encode(errors="surrogatepass"))
    if not found:
        return []
    groups = {group for index in found for group in _GROUPS_OF.get(_MARKERS[index], ())}
    return sorted(groups, key=_ORDER.__getitem__)


_ESCAPED = re.compile(r"\\(?:u00([2-7][0-9a-fA-F])|([nrt]))")
_CUT_OFF = ("", "'", '"', "@x")
"""Closing characters of a secret, which may be missing at the end of a truncated line."""


def redact_line(text: str) -> str:
    """Mask the secrets in a line that is truncated or not JSON, also after JSON escapes."""
    plain = _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else "\n", text)
    clean = plain
    for end in _CUT_OFF:
        clean = redact_text(clean + end).removesuffix(end)
    return text if clean == plain else clean


def redact(value: Any) -> Any:
    """Return a decoded JSON value with its secrets masked; the same object if it has none."""
    if _rules is None:
        return value
    return _redact(value)


def _redact(value: Any) -> Any:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        return _redact_list(value)
    if isinstance(value, dict):
        return _redact_object(value)
    return value


_FLAG = re.compile(r"--?[\w.-]{1,64}", re.ASCII)


def _redact_list(value: list[Any]) -> list[Any]:
    result = [_redact(item) for item in value]
    for index, item in enumerate(value[:-1]):
        following = value[index + 1]
        if isinstance(item, str) and item[:1] == "-" and isinstance(following, str):
            is_secret = _FLAG.fullmatch(item) and _is_secret(item)
            if is_secret and not following.startswith("-"):  # such as --password x
                result[index + 1] = _masked(following)
    changed = any(new is not old for new, old in zip(result, value, strict=True))
    return result if changed else value


_NAMES = frozenset({"name", "key", "Name", "Key"})
_VALUE = re.compile(r"(?:string[._-]?|default[._-]?)?values?", re.IGNORECASE)
_BY_COLUMN = frozenset({"fields", "columns", "columnMetrics"})
"""Keys of objects whose keys are column names."""


def _redact_object(value: dict[str, Any], within: str = "") -> dict[str, Any]:
    has_secret = any(
        isinstance(named := value.get(key), str) and _is_secret(named) for key in _NAMES
    )
    result: dict[str, Any] = {}
    changed = False
    for key, old in value.items():
        is_column = within in _BY_COLUMN and isinstance(old, dict | list)
        if not is_column and (_is_secret(key) or (has_secret and _VALUE.fullmatch(key))):
            new = _masked(old, with_numbers=compiled(PASSWORD_KEY).search(key) is not None)
        else:
            new = _redact_object(old, key) if isinstance(old, dict) else _redact(old)
        clean = redact_text(key)
        changed = changed or new is not old or clean != key
        result[clean] = new
    return result if changed else value


def _is_secret(key: str) -> bool:
    return compiled((_rules or _DEFAULT).key).search(key) is not None


def _masked(value: Any, *, with_numbers: bool = False) -> Any:
    """Mask every text below a secret key; the same object if there is none."""
    if isinstance(value, str):
        return value if compiled(PLAIN).fullmatch(value) else MASK
    if isinstance(value, list):
        items = [_masked(item, with_numbers=with_numbers) for item in value]
        changed = any(new is not old for new, old in zip(items, value, strict=True))
        return items if changed else value
    if isinstance(value, dict):
        fields = {key: _masked(item, with_numbers=with_numbers) for key, item in value.items()}
        changed = any(fields[key] is not value[key] for key in value)
        return fields if changed else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return MASK if with_numbers and is_number else value
