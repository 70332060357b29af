"""Mask secrets before an event is stored; everything else stays unchanged.

`Redactor.of` adds the rules of the setting `redact`, or turns masking off. All code that stores or
shows texts gets the redactor of its application, for example from the event log.

The rules are conservative: a value is masked only if its key marks it as secret, or if its format
is unambiguous. A column named `token` keeps its name, and an SQL query keeps its meaning.

Rules are in groups. A *marker* is a text that every match of a group contains, such as `password`;
one search for all markers shows which groups a text needs.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwater.config import filled, read_yaml
from headwater.errors import ConfigError
from headwater.redaction._forms import GROUPS
from headwater.redaction._rules import MASK, Finder, Group
from headwater.redaction._words import WORDS
from headwater_client.masking.fields import mask_fields
from headwater_client.masking.names import is_secret_name, strength
from headwater_client.masking.python import mask_python
from headwater_client.masking.source import mask_source
from headwater_client.masking.values import is_plain, looks_like_name


@dataclass(frozen=True, slots=True)
class _File:
    """The file of the setting `redact`, see `Redactor.of`."""

    keys: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)


_GROUPS_OF: dict[bytes, list[Group]] = {}
for _group in GROUPS:
    for _marker in _group.markers:
        _GROUPS_OF.setdefault(_marker.encode(), []).append(_group)
# An escaped character, as in "p\u0061ssword", could be part of any marker.
_ESCAPE = b"\\u00"
_MARKERS = (*_GROUPS_OF, _ESCAPE)
_FINDER = Finder(_MARKERS)

_ESCAPED = re.compile(r"\\(?:u00([2-7][0-9a-fA-F])|([nrt]))")
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)', re.DOTALL)
_CUT_OFF = ("", "'", '"', "@x")
"""Closing characters of a secret, which may be missing at the end of a truncated line."""

_FLAG = re.compile(r"--?[\w.-]{1,64}", re.ASCII)
_NAMES = frozenset({"name", "key", "Name", "Key"})
_VALUE = re.compile(r"(?:string[._-]?|default[._-]?)?values?", re.IGNORECASE)
_BY_COLUMN = frozenset({"fields", "columns", "columnMetrics"})
"""Keys of objects whose keys are column names."""


@dataclass(frozen=True, slots=True)
class Redactor:
    """Masks secrets by the built-in rules and those of an application; nothing if it is off."""

    keys: re.Pattern[str] | None = None
    """Matches keys of secret values, besides the built-in ones."""
    patterns: tuple[re.Pattern[str], ...] = ()
    """Match secrets in any text, besides the built-in ones."""
    is_off: bool = False

    @classmethod
    def of(cls, setting: str) -> Redactor:
        """Return the redactor of the setting `redact`: empty, `off`, or a YAML file.

        The file adds `keys` and `patterns`, lists of case-insensitive regular expressions. `keys`
        match the end of keys with secret values; `patterns` match secrets in any text.

        Raises:
            ConfigError: the file cannot be read or has another structure.
        """
        if not setting or setting == "off":
            return cls(is_off=setting == "off")
        file = filled(_File, read_yaml(Path(setting)), setting)
        for text in (*file.keys, *file.patterns):
            try:
                re.compile(text)
            except re.error as error:
                raise ConfigError(
                    f"{setting}: received {text!r}, expected a regular expression: {error}"
                ) from None
        keys = "|".join(f"(?:{key})$" for key in file.keys)
        return cls(
            re.compile(keys, re.IGNORECASE | re.ASCII) if keys else None,
            tuple(re.compile(text, re.IGNORECASE) for text in file.patterns),
        )

    def is_suspicious(self, raw: bytes) -> bool:
        """Return True if raw JSON may contain a secret; this quick check suffices for most events.

        With additional rules, it is always True, because they may match any text.
        """
        if self.is_off:
            return False
        if self.keys is not None or self.patterns:
            return True
        lower = raw.lower()
        for index in {index for index, _ in _FINDER.find(lower)}:
            groups = _GROUPS_OF.get(_MARKERS[index])
            # The marker without groups is an escaped character (`_ESCAPE`).
            if groups is None or any(group.may_match(lower) for group in groups):
                return True
        return False

    def redact_text(self, text: str) -> str:
        """Mask the secrets in a text: passwords in URLs, SQL and options, keys and tokens.

        If it has a word such as `password`, Python, fields and source code are masked first, by
        their syntax. Groups of rules are applied in their fixed order.
        """
        if self.is_off:
            return text
        markers = {_MARKERS[index] for index, _ in _FINDER.find_in_text(text)}
        found = {group for marker in markers for group in _GROUPS_OF.get(marker, ())}
        if not found.isdisjoint(WORDS):
            text = mask_source(mask_fields(mask_python(text, MASK), MASK), MASK)
        for group in sorted(found, key=GROUPS.index):
            text = group.mask(text)
        for pattern in self.patterns:
            text = pattern.sub(MASK, text)
        return text

    def redact_line(self, text: str) -> str:
        """Mask the secrets in a line that is truncated or not JSON, even after JSON escapes.

        First within its JSON strings, then in the line without escapes. A secret may lack its
        closing quote or `@` at the end, so each is tried there.
        """
        text = _JSON_STRING.sub(self._without_secrets, text)
        plain = _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else "\n", text)
        clean = plain
        for end in _CUT_OFF:
            clean = self.redact_text(clean + end).removesuffix(end)
        return text if clean == plain else clean

    def redact(self, value: Any) -> Any:
        """Mask the secrets of a decoded JSON value in place; return it."""
        return self.redact_in_place(value)[0]

    def redact_in_place(self, value: Any) -> tuple[Any, bool]:
        """Mask the secrets of a decoded JSON value; return it, and True if it has changed.

        Lists and objects are changed themselves, so that a large value is in memory only once.
        """
        if self.is_off:
            return value, False
        masking = _Masking(self)
        return masking.value(value), masking.has_changed

    def is_secret(self, key: str) -> bool:
        """Return True if a key marks its value as secret."""
        keys = self.keys
        return is_secret_name(key) or (keys is not None and keys.search(key) is not None)

    def _without_secrets(self, match: re.Match[str]) -> str:
        """Mask the secrets of a JSON string, which may be cut off at the end."""
        end = "" if match[0].endswith('"') else '"'
        try:
            decoded = json.loads(match[0].removesuffix("\\") + end)
        except ValueError:
            return match[0]
        clean = self.redact_text(decoded)
        return match[0] if clean == decoded else json.dumps(clean).removesuffix(end or "\0")


class _Masking:
    """Masks the secrets of one value, and records if it had any."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.has_changed = False

    def value(self, value: Any, within: str = "") -> Any:
        """Mask any value; `within` is the key of a value that is an object."""
        if isinstance(value, str):
            return self._changed(value, self._redactor.redact_text(value))
        if isinstance(value, list):
            self._list(value)
        elif isinstance(value, dict):
            self._object(value, within)
        return value

    def _changed(self, old: Any, new: Any) -> Any:
        """Return a new value, and record that it differs from the old one."""
        if new == old:
            return old
        self.has_changed = True
        return new

    def _list(self, items: list[Any]) -> None:
        """Mask the items of a list in place, also the value after a flag such as `--password`."""
        is_secret = False  # True after a flag such as --password
        for index, item in enumerate(items):
            is_flag = isinstance(item, str) and item.startswith("-")
            if is_secret and isinstance(item, str) and not is_flag:
                items[index] = self._masked(item)
            else:
                items[index] = self.value(item)
            is_secret = is_flag and bool(_FLAG.fullmatch(item)) and self._redactor.is_secret(item)
        # Pairs of a key and a value, such as those of dict.items().
        if all(isinstance(item, list) and len(item) == 2 for item in items):
            for pair in items:
                self._pair(pair)

    def _pair(self, pair: list[Any]) -> None:
        """Mask the value of a pair such as ["password", "x"], unless it is a name as well."""
        name, value = pair
        is_secret = isinstance(name, str) and self._redactor.is_secret(name)
        if is_secret and not (isinstance(value, str) and looks_like_name(value)):
            pair[1] = self._masked(value)

    def _object(self, item: dict[str, Any], within: str) -> None:
        """Mask the values and keys of an object in place; `within` is the key of the object itself.

        An object with a secret name, such as {"name": "password", "value": "x"}, has its value
        masked. A key of `fields` is the name of a column, which may be `token`.
        """
        is_secret = self._redactor.is_secret
        names = (item.get(key) for key in _NAMES)
        has_secret = any(isinstance(name, str) and is_secret(name) for name in names)
        new_keys: dict[str, str] = {}
        for key, value in item.items():
            is_column = within in _BY_COLUMN and isinstance(value, dict | list)
            if not is_column and (is_secret(key) or (has_secret and _VALUE.fullmatch(key))):
                item[key] = self._masked(value, with_numbers=strength(key) == "password")
            else:
                item[key] = self.value(value, key)
            if (new_key := self._changed(key, self._redactor.redact_text(key))) != key:
                new_keys[key] = new_key
        if new_keys:
            pairs = [(new_keys.get(key, key), value) for key, value in item.items()]
            item.clear()
            item.update(pairs)

    def _masked(self, value: Any, *, with_numbers: bool = False) -> Any:
        """Mask every text below a secret key; numbers only with `with_numbers`, for passwords.

        Texts that are plainly no secret, such as `true`, stay.
        """
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(value, list):
            for index, item in enumerate(value):
                value[index] = self._masked(item, with_numbers=with_numbers)
        elif isinstance(value, dict):
            for key, item in value.items():
                value[key] = self._masked(item, with_numbers=with_numbers)
        elif (isinstance(value, str) and not is_plain(value)) or (with_numbers and is_number):
            return self._changed(value, MASK)
        return value


DEFAULT = Redactor()
"""Masks by the built-in rules."""
