"""Mask secrets in Python, SQL and shell code, and in messages, for producers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from .calls import FUNCTIONS, secrets_of_call
from .commands import PROGRAMS, secrets_of_command
from .fields import mask_fields
from .names import is_secret_name, strength
from .python import mask_python
from .source import mask_source
from .spans import Span, replace_spans
from .tokens import PATTERNS
from .values import is_plain


def _names(names: frozenset[str], end: str) -> re.Pattern[str]:
    words = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    return re.compile(rf"(?<![\w.-])(?:{words}){end}", re.IGNORECASE)


_COMMAND = _names(PROGRAMS, r"(?:\.exe)?(?=[\s'\",\\])")
_CALL = _names(FUNCTIONS, r"\s{0,4}\(")
# password = 'x', "password": "x", password => 'x' and PASSWORD N'x'
_NAMED = re.compile(
    r"(?<![\w.-])(?P<name>(?P<flag>-)?+[\w.-]{1,128}+)(?:\\{0,4}[\"'`]\]?)?\s{0,8}"
    r"(?:(?:=>|->|:=|[=!]=|<>|[=:])\s{0,8}[nNbrfu]{0,2}|(?(flag)(?!)|(?<=\s)[nN]?(?=')))\\{0,4}"
    r"(?P<quote>['\"])(?P<text>(?:(?!(?P=quote))[^\\]|\\[^'\"]|\\.(?!\s*[,}])|(?P=quote){2})*+)",
    re.DOTALL,
)
_IDENTIFIED = re.compile(
    r"\bidentified(?:\s+with\s+\S{1,64})?\s+(?:by|as)\s+"
    r"(?:'(?P<text>(?:[^']|'')*+)|(?P<bare>(?=\S*\d)[^\s'\";]{1,512}))",
    re.IGNORECASE,
)
# DB_PASSWORD=x and --password x
_BARE = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]{1,128}+)(?:=|\s{0,4}[=:]\s{1,4}(?=\S{0,256}\d))"
    r"(?=(?P<text>[^\s;&|'\"()\[\]{},$<>%*]{1,512}+)(?![(\[]))"
)
_PROSE = "(?:to|and|or|is|if|in|for|with|on|from|as|by|the|option|flag)\\b"
_FLAGGED = re.compile(
    r"(?<![\w.-])(?P<name>--?[\w.-]{1,128}+)\s{1,4}(?!"
    + _PROSE
    + r")(?=(?P<text>[^\s;&|'\"()\[\]{},$<>%*-]\S{0,511}))"
)
_BEARER = re.compile(
    r"\b(?:bearer|basic)\s{1,4}(?P<text>(?=\S{0,256}[\d=])[\w.~+/-]{16,8192}={0,2})", re.IGNORECASE
)
# aws configure set, odbc_connect, OAuth codes, schema registries, getConnection and az login
_FORMS = re.compile(
    r"(?:\bconfigure set \S{0,64}(?:key|token)\S{0,16}\s{1,8}|pwd%3d|[?&]code=(?=[\w%+/=~.-]{16})"
    r"|basic\.auth\.user\.info\s{0,8}[=:]\s{0,8}[^:'\"\s]{1,128}:"
    r"|\bgetConnection\([^()\n]{1,512},[^(),\n]{1,256},\s{0,8}['\"]"
    r"|\blogin\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(?!['\"])"
    r"|\baz login\b[^\n|;&]{0,256}?\s(?:-p|--password)\s{1,8})"
    r"(?P<text>(?:(?!%3b)[^\s&'\"]){1,512})",
    re.IGNORECASE,
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 _-]{0,40}PRIVATE KEY(?: BLOCK)?-----(?P<text>.*?)"
    r"(?:-----END [A-Z0-9 _-]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)


_IN_URL = re.compile(r"(\w://[^\s:/@]{0,256}):[^\s/'\"]{1,512}@")


def mask_text(text: str, mask: str = "***") -> str:
    """Mask the passwords in URLs, and secrets as `mask_code` does."""
    return mask_code(_IN_URL.sub(rf"\1:{mask}@", text), mask)


def mask_code(text: str, mask: str = "***") -> str:
    """Mask secrets recognized by the syntax of Python, SQL or a shell; keep all other text.

    Each step searches the text in which the one before has masked secrets.
    """
    text = mask_source(mask_fields(mask_python(text, mask), mask), mask)
    text = _masked(text, [*_tokens(text)], mask)
    text = _masked(text, [match.span("text") for match in _PRIVATE_KEY.finditer(text)], mask)
    text = _masked(text, _scanned(text, _COMMAND, secrets_of_command), mask)
    text = _masked(text, _scanned(text, _CALL, secrets_of_call), mask)
    spans = [match.span(match.lastgroup or 0) for match in _IDENTIFIED.finditer(text)]
    spans += [match.span("text") for match in _FORMS.finditer(text)]
    spans += [match.span("text") for match in _BEARER.finditer(text)]
    for pattern in (_NAMED, _BARE, _FLAGGED):
        text = _masked(text, [*spans, *_named(pattern, text)], mask)
        spans = []
    return text


def _tokens(text: str) -> Iterator[Span]:
    """Yield the positions of vendor tokens."""
    lower = text.lower()
    for marker, pattern in PATTERNS.items():
        if marker in lower:
            yield from (match.span() for match in re.finditer(rf"(?<![0-9A-Za-z]){pattern}", text))


def _named(pattern: re.Pattern[str], text: str) -> list[Span]:
    """Return the positions of secret values, unless they are names or have named parts."""
    return [
        match.span("text")
        for match in pattern.finditer(text)
        if (kind := strength(match["name"]))
        and not is_secret_name(match["text"])
        and not (kind == "weak" and "=" in match["text"])
    ]


def _scanned(
    text: str, names: re.Pattern[str], read: Callable[[str, int], tuple[list[Span], int]]
) -> list[Span]:
    """Return the secrets of commands or calls; `read` returns those at a position, and the end."""
    spans: list[Span] = []
    end = 0
    for match in names.finditer(text):
        if match.start() >= end:
            found, end = read(text, match.start())
            spans += found
    return spans


def _masked(text: str, spans: list[Span], mask: str) -> str:
    secrets = (span for span in sorted(spans) if not is_plain(text[slice(*span)]))
    return replace_spans(text, secrets, mask)
