"""Find the lines of an error that state its reason."""

from __future__ import annotations

import re

_MOST_LINES = 3
_MOST_LINE = 240  # characters
_BOILERPLATE = re.compile(
    r"""
    (compilation|database|runtime|dependency|parsing|validation)\ error(\ in\ .*)?$  # of dbt
    | compiled\ code\ at\ | encountered\ an\ error:?$ | done\.\ pass=
    | traceback\ \(most\ recent\ call | during\ handling\ of\ the\ above\ exception
    | the\ above\ exception\ was
    | file\ ".*",\ line\ \d+ | [\^~\s|+-]+$ | at\ [\w$.<>/]+\(.*\)$ | \.{3}\ \d+\ (more|common)
    | ([\w.]+:\ )?an\ error\ occurred\ while\ calling\ \w+\.\w+\.?:?$
    | driver\ stacktrace:?$ | org\.apache\.spark\.SparkException:\ job\ aborted\.?$
    | line\ \d+:\ .*$ | select\b.*$ | ==\ .*\ ==$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FRAME = re.compile(r'\s*File ".*", line \d+')
_TIME = re.compile(r"^\[?\d{4}-\d\d-\d\d[T ][\d:.,]+(Z|[+-]\d\d:?\d\d)?\]?\s*(\w+\s+-\s+)?")


def telling_lines(error: str | None) -> list[str]:
    """Return the first three lines of an error without headings, stack frames and equal lines.

    If all lines are of these kinds, return the first one.

    Long lines are shortened in the middle. The list is empty without an error.
    """
    lines = (error or "").splitlines()
    texts: list[str] = []
    for place, line in enumerate(lines):
        # without the time and level of a log line, and the colons of Java's causes
        text = _TIME.sub("", line.strip()).lstrip(": ")
        is_code_of_frame = place > 0 and _FRAME.match(lines[place - 1]) is not None
        if text and not is_code_of_frame and not _BOILERPLATE.match(text) and text not in texts:
            texts.append(text)
    found = texts or [line.strip() for line in lines if line.strip()][:1]
    return [_cut(text) for text in found[:_MOST_LINES]]


def _cut(text: str) -> str:
    """Return a line without the middle of a long one: the reason may be at its end."""
    half = _MOST_LINE // 2
    return text if len(text) <= _MOST_LINE else f"{text[:half]} … {text[-half:]}"
