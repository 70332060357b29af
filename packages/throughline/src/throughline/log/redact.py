"""Secrets are taken out before an event is stored; what is no secret stays byte for byte.

The patterns are conservative: a value goes only where its key says that it is a secret, or where
its form can be nothing else. A column called `token` keeps its name, a SQL text its meaning.
"""

from __future__ import annotations

import re
from typing import Any

MASK = "***"

_WORDS = (
    r"(?:password|passwd|pwd|passphrase|secret|token|credentials?|authorization"
    r"|(?:api|access|secret|private|account|shared|storage)[._-]?key(?:[._-]?id)?)"
)
_SECRET_KEY = re.compile(rf"{_WORDS}$", re.IGNORECASE)
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
# A look at the raw bytes spares most events the walk through every text. It is on the way of each
# event: few and plain searches, and what is common (`key`) is looked at more closely.
_SIGNS = (
    *(b"passw", b"pwd", b"passphrase", b"secret", b"token", b"credential", b"authorization"),
    *(b"identified", b"bearer ", b"basic ", b"private", b"x-amz-", b"akia", b"asia", b"\\u00"),
)
_BEFORE_KEY = (b"api", b"access", b"account", b"shared", b"storage")
_RARER = re.compile(rb"sig(?:nature)?=|gh[pousr]_")
_USER_INFO = re.compile(rb":(?:\\?/){2}[^/\"\s]*@")


def is_suspicious(raw: bytes) -> bool:
    """Whether raw JSON could hold a secret at all."""
    lower = raw.lower()
    if any(sign in lower for sign in _SIGNS) or (b"@" in lower and _USER_INFO.search(lower)):
        return True
    if (b"sig" in lower or b"gh" in lower) and _RARER.search(lower):
        return True
    at = lower.find(b"key")
    while at >= 0:
        if lower[max(at - 8, 0) : at].rstrip(b"._-").endswith(_BEFORE_KEY):
            return True
        at = lower.find(b"key", at + 3)
    return False


def redact_text(text: str) -> str:
    """A text without the secrets in it: passwords in URLs, SQL and options, keys and tokens."""
    for pattern, replacement in _TEXTS:
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
    named = value.get("name", value.get("key"))
    is_secret = isinstance(named, str) and _SECRET_KEY.search(named) is not None
    result: dict[str, Any] = {}
    changed = False
    for key, old in value.items():
        hides = (
            isinstance(old, str)
            and old
            and (_SECRET_KEY.search(key) is not None or (is_secret and key == "value"))
        )
        new = MASK if hides else redact(old)
        changed = changed or new is not old
        result[key] = new
    return result if changed else value
