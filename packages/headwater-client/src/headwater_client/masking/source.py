"""Find secrets in source code and configuration files of several languages.

Scala, Java and similar code and shell code are read by their tokens, R, YAML, HCL and properties by
patterns. Each of these finds secrets in all texts, because the language of a text is not known.
Every quantifier has an upper limit, so that the time grows linearly with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .braces import secrets_in_braces
from .names import strength
from .shell import secrets_in_shell
from .spans import Span, matches, replace_spans, sorted_spans
from .values import is_no_secret, looks_like_name

_MOST = 262_144
"""Characters of the longest text that is searched, which takes up to a second."""
_MARKER = re.compile(
    "pass|pw|psw|secret|key|token|cred|auth|cookie|sign|pat|sas|account", re.IGNORECASE | re.ASCII
)
"""A part of every secret name."""
_LONGEST = 16_384
"""Upper limit of the characters of a match."""

_NAME = r"(?<![\w.$-])(?P<name>[\w.$-]{1,128}+)"
_KEY = rf"{_NAME}['\"`]?\]{{0,2}}"
_TYPE = r"(?:\s{0,4}:\s{0,4}[\w.\[\]<>]{1,64}+)?"
_ASSIGN = r"\s{0,8}(?:<<?-|=(?![=>~])|:=|:(?!:)|==)\s{0,8}"
# s"…", raw"…", $'…', r"(…)"; atomic instead of possessive, see `_TEXT` in fields.py
_LITERAL = (
    r"(?:[a-z]{1,3}|\$)?(?P<q>\"\"\"|['\"`])"
    r"(?P<text>(?>(?:\\[^\n]|(?!(?P=q))[^\\\n]){1,2048}))(?P=q)"
)
_WRAPPED = (
    r"(?:(?:Some|Option|Optional\.of(?:Nullable)?|new String|String\.valueOf|sensitive)"
    r"\(\s{0,4}|\"\$\{)?"
)
_WRAPPED_TEXT = _WRAPPED + _LITERAL
_LINE = r"(?m:^)[ \t-]{0,64}+['\"]?(?P<name>[\w.-]{1,128}+)['\"]?[ \t]{0,8}"
_RANDOM = r"(?=\S{0,256}[\d!$%^*+=~])"

_PATTERNS = (
    # getPassword() { return "x"; } and password.equals("x")
    rf"{_NAME}\(\s{{0,4}}\)\s{{0,4}}(?::\s{{0,4}}\w{{1,32}}\s{{0,4}}=?)?\s{{0,4}}\{{"
    rf"\s{{0,64}}return\s{{1,4}}{_LITERAL}",
    rf"(?<![\w.])(?P<name>\w{{1,128}})\.equals(?:IgnoreCase)?\(\s{{0,4}}{_LITERAL}",
    # "x".equals(password)
    rf"(?<!\w){_LITERAL}\.equals(?:IgnoreCase)?\(\s{{0,4}}(?P<name>[\w.]{{1,128}}+)",
    # "x" -> password
    rf"(?m:^)[ \t]{{0,64}}{_LITERAL}\s{{0,4}}->>?\s{{0,4}}(?P<name>[\w.]{{1,128}}+)",
    # ${db.password:x} and ${PASSWORD:=x}
    r"\$\{(?P<name>[\w.-]{1,128}?)(?::[=-]?|=)(?P<text>[^}\s:=+?-][^}\n]{0,256})\}",
    # password: !!str x, password: &a x
    rf"{_LINE}:[ \t]{{1,8}}(?:!!?\w{{1,16}}|&\w{{1,32}})[ \t]{{1,4}}"
    rf"(?P<text>[^\s#'\"][^\n#]{{0,512}})",
    # "password": x
    rf"(?m:^)[ \t-]{{0,64}}+['\"](?P<name>[\w.-]{{1,128}}+)['\"]:[ \t]{{1,8}}{_RANDOM}"
    rf"(?P<text>[\w!$%^*+=~-]{{4,512}})[ \t]{{0,8}}(?m:$)",
    # a block scalar, and a value on the next line
    rf"{_LINE}:[ \t]{{0,8}}[|>][+-]?\d?[ \t]{{0,8}}\n(?P<indent>[ \t]{{1,32}})"
    r"(?P<text>\S[^\n]{0,1024}(?:\n(?P=indent)[^\n]{0,1024}){0,8})",
    rf"{_LINE}(?:\n[ \t]{{0,8}}:|:[ \t]{{0,8}}\n)[ \t]{{1,32}}{_RANDOM}"
    rf"(?P<text>[^\s:'\"-][^\s:]{{3,512}})[ \t]{{0,8}}(?m:$)",
    # - --password, then - x
    r"--?(?P<name>[\w-]{1,128}+)['\"]?[ \t]{0,8}\n[ \t]{0,64}-[ \t]{1,8}['\"]?"
    r"(?P<text>[^\s'\"-][^\s'\"]{0,512})",
    # variable "password" { default = "x" }
    r"\b(?:variable|output|parameter)\s{1,4}['\"]"
    r"(?P<name>[\w.-]{1,128})['\"]\s{0,4}\{[^{}]{0,512}?\b(?:default|value)"
    rf"\s{{0,8}}=\s{{0,8}}{_WRAPPED_TEXT}",
    # name = "password", then value = "x"
    rf"\bname\s{{0,8}}=\s{{0,8}}['\"](?P<name>[\w.-]{{1,128}})['\"][\s,;]{{1,64}}value"
    rf"\s{{0,8}}=\s{{0,8}}{_WRAPPED_TEXT}",
    # password = <<EOT
    rf"{_NAME}\s{{0,8}}=\s{{0,8}}<<[-~]?['\"]?(?P<tag>\w{{1,32}})['\"]?\n(?P<text>(?:(?!"
    rf"[ \t]{{0,32}}(?P=tag)\b)[^\n]{{0,1024}}\n){{1,64}})",
    # db.password x
    rf"(?m:^)[ \t]{{0,8}}(?P<name>[\w-]{{1,64}}\.[\w.-]{{1,128}}+)[ \t]{{1,8}}{_RANDOM}"
    rf"(?P<text>[^\s=:<-]\S{{3,512}})[ \t]{{0,8}}(?m:$)",
    # secret.key=\ and the value on the next line
    rf"{_NAME}\s{{0,8}}[=:]\s{{0,8}}\\\n\s{{0,32}}(?P<text>\S{{1,512}})",
    # auth.token = Bearer x, and token:x
    rf"{_NAME}\s{{0,8}}[=:]\s{{0,8}}(?:bearer|basic|token)\s{{1,4}}{_RANDOM}"
    rf"(?P<text>[\w.~+/=-]{{8,4096}})",
    rf"{_LINE}:{_RANDOM}(?P<text>[\w.~+/=-]{{8,4096}})[ \t]{{0,8}}(?m:$)",
)
_COMPILED = tuple(re.compile(pattern, re.IGNORECASE | re.ASCII) for pattern in _PATTERNS)


def mask_source(text: str, mask: str) -> str:
    """Mask the values of secret names in source code; a text longer than `_MOST` is not changed."""
    if len(text) > _MOST or text.isidentifier() or _MARKER.search(text) is None:
        return text
    return replace_spans(text, sorted_spans(_secrets(text)), mask)


def _secrets(text: str) -> Iterator[Span]:
    """Yield the secrets that each of the languages finds, in any order; some more than once."""
    yield from secrets_in_braces(text)
    yield from secrets_in_shell(text)
    for pattern in _COMPILED:
        for match in matches(pattern, text, _LONGEST):
            if strength(match["name"]) and not (
                is_no_secret(match["text"]) or looks_like_name(match["text"].strip())
            ):
                yield match.span("text")
