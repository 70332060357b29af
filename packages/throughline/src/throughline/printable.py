"""Escape control characters in foreign text, wherever it is printed.

A job can have any name. Written as it is, it could clear the screen, set the clipboard, turn the
direction of a line, or add a line that looks like the program's own.
"""

from __future__ import annotations

import json
import re
from typing import Any

_NOT_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escaped(text: str, *, keep: str = "") -> str:
    """Escape what does not print, as Python does (`\\x1b`), except the characters in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else repr(char)[1:-1] for char in text
    )


def json_of(value: Any, **options: Any) -> str:
    """Return JSON that is safe to print: the same value, control characters as its escapes."""
    text = json.dumps(value, ensure_ascii=False, **options)
    return _NOT_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
