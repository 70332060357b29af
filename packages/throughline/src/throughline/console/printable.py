"""Escape control characters in untrusted text before it is printed.

A job can have any name. Unescaped, a name could clear the screen, set the clipboard, reverse the
text direction, or add a line that looks like the program's own output.
"""

from __future__ import annotations

import json
import re
from typing import Any

_NOT_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escaped(text: str, *, keep: str = "") -> str:
    """Escape non-printable characters like Python (`\\x1b`), except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else repr(char)[1:-1] for char in text
    )


def json_of(value: Any, **options: Any) -> str:
    """Return JSON of the same value that is safe to print, with control characters escaped."""
    text = json.dumps(value, ensure_ascii=False, **options)
    return _NOT_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
