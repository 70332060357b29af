"""Secrets are taken out before an event is stored; what is no secret stays byte for byte.

`use_rules`, once when a process starts, adds to what counts as a secret, or turns this off.

The patterns are conservative: a value goes only where its key says that it is a secret, or where
its form can be nothing else. A column called `token` keeps its name, a SQL text its meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from throughline.config import filled, read_yaml
from throughline.errors import ConfigError

MASK = "***"

_WORDS = (
    r"(?:password|passwd|pwd|passphrase|secret|token|credentials?|authorization"
    r"|(?:api|access|secret|private|account|shared|storage)[._-]?key(?:[._-]?id)?)"
)
_QUOTED = r"""'[^']*'|"[^"]*\""""
# Ordered from the most specific; each pair is (pattern, replacement).
_TEXTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(-----END [A-Z ]*PRIVATE KEY-----|\Z)", MASK),
        (r"://([^/\s:@'\"]*):[^/\s@'\"]+@", rf"://\1:{MASK}@"),
        (rf"\b(identified\s+by|password)(\s+)(?:{_QUOTED})", rf"\1\2'{MASK}'"),
        (rf"({_WORDS}['\"]?\s*[=:]\s*)'[^']*'", rf"\1'{MASK}'"),
        (rf"({_WORDS}['\"]?\s*[=:]\s*)\"[^\"]*\"", rf'\1"{MASK}"'),
        (rf"({_WORDS}=)(?!\*\*\*)[^\s&;,'\"<>)\]}}]+", rf"\1{MASK}"),
        (
            r"([?&](?:sig|signature|x-amz-(?:signature|credential|security-token))=)[^\s&'\"]+",
            rf"\1{MASK}",
        ),
        (r"\b(bearer|basic)\s+[a-z0-9._~+/-]{16,}=*", rf"\1 {MASK}"),
        (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", MASK),
        (r"\bgh[pousr]_[0-9a-z]{36,}\b", MASK),
    )
)


class _Rules(NamedTuple):
    """What is taken out; `is_more` says that the look at the raw bytes does not know all of it."""

    key: re.Pattern[str]
    texts: tuple[tuple[re.Pattern[str], str], ...]
    is_more: bool = False


@dataclass(frozen=True, slots=True)
class _File:
    keys: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)


_DEFAULT = _Rules(re.compile(rf"{_WORDS}$", re.IGNORECASE), _TEXTS)
_rules: _Rules | None = _DEFAULT


def use_rules(setting: str) -> None:
    """Follow the setting `redact`: empty, `off`, or a YAML file of more `keys` and `patterns`.

    Both are lists of regular expressions, whatever the case: of the ends of keys whose values are
    secret, and of what is secret in any text.

    Raises:
        ConfigError: the file cannot be read, or holds something else.
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
    words = "|".join([_WORDS, *(f"(?:{key})" for key in file.keys)])
    more = tuple((re.compile(pattern, re.IGNORECASE), MASK) for pattern in file.patterns)
    _rules = _Rules(re.compile(rf"(?:{words})$", re.IGNORECASE), _TEXTS + more, is_more=True)


# A look at the raw bytes spares most events the walk through every text. It is on the way of each
# event: all signs are looked for at once, and what is common is then looked at more closely.
_SIGNS = (
    *(b"passw", b"pwd", b"passphrase", b"secret", b"token", b"credential", b"authorization"),
    *(b"identified", b"bearer ", b"basic ", b"private", b"x-amz-", b"akia", b"asia", b"\\u00"),
)
_CLOSER = {
    b"key": re.compile(rb"(?:api|access|account|shared|storage)[._-]{0,2}key"),
    b"sig": re.compile(rb"sig(?:nature)?="),
    b"gh": re.compile(rb"gh[pousr]_"),
    b"@": re.compile(rb":(?:\\?/){2}[^/\"\s]*@"),
}
_LOOKED_FOR = (*_SIGNS, *_CLOSER)
_FINDER = BytesAhoCorasick(_LOOKED_FOR, implementation=Implementation.DFA)


def is_suspicious(raw: bytes) -> bool:
    """Whether raw JSON could hold a secret at all."""
    if _rules is None or _rules.is_more:
        return _rules is not None
    lower = raw.lower()
    found = {_LOOKED_FOR[index] for index, _, _ in _FINDER.find_matches_as_indexes(lower)}
    return any(sign not in _CLOSER or _CLOSER[sign].search(lower) for sign in found)


def redact_text(text: str) -> str:
    """A text without the secrets in it: passwords in URLs, SQL and options, keys and tokens."""
    for pattern, replacement in _rules.texts if _rules else ():
        text = pattern.sub(replacement, text)
    return text


def redact(value: Any) -> Any:
    """A decoded JSON value without secrets; the same object where there was none."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        items = [redact(item) for item in value]
        changed = any(new is not old for new, old in zip(items, value, strict=True))
        return items if changed else value
    if isinstance(value, dict):
        return _redact_object(value)
    return value


def _redact_object(value: dict[str, Any]) -> dict[str, Any]:
    secret = (_rules or _DEFAULT).key.search
    named = value.get("name", value.get("key"))
    is_secret = isinstance(named, str) and secret(named) is not None
    result: dict[str, Any] = {}
    changed = False
    for key, old in value.items():
        hides = (
            isinstance(old, str)
            and old
            and (secret(key) is not None or (is_secret and key == "value"))
        )
        new = MASK if hides else redact(old)
        changed = changed or new is not old
        result[key] = new
    return result if changed else value
