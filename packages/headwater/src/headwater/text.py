"""Format text: numbers, durations and JSON, with control characters of untrusted text escaped.

A job can have any name. Unescaped, a name could clear the screen, set the clipboard, reverse the
text direction, or add a line that looks like the program's own output.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_NOT_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

FILE_ENDING = re.compile(
    r"\.(arrow|avro|bz2|csv|docx|feather|gz|h5|hdf5|html|ipynb|joblib|jpeg|jpg"
    r"|json|jsonl|ndjson|npy|npz|onnx|orc|parquet|pdf|pickle|pkl|png|pptx"
    r"|sqlite|svg|tar|tsv|txt|xls|xlsx|xml|yaml|yml|zip|zst)$"
)
"""The ending of a file's name in lower case. The page has the same list (graph/words.ts)."""

REMOVED_MODEL = "was removed from the dbt project"
"""Beginning of the message about a job or dataset of a model that its project no longer has."""


def title_of_dataset(name: str) -> str:
    """Return the last part of the name of a dataset, as the page shows it.

    The last part of a path is behind its last slash, and a file keeps its dots.
    """
    bare = name.rstrip("/")
    is_path = "/" in bare or FILE_ENDING.search(bare.lower())
    return bare.rpartition("/" if is_path else ".")[2]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration_of(milliseconds: int) -> str:
    """Format a duration in milliseconds, such as `4.2 s`, `3 min 5 s`, `2 h 10 min` or `3 days`."""
    seconds = milliseconds / 1_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    large, small = (f"{hours} h", minutes) if hours else (f"{minutes} min", seconds)
    return f"{large} {small} {'min' if hours else 's'}" if small else large


def escaped(text: str, *, keep: str = "") -> str:
    """Escape non-printable characters like Python (`\\x1b`), except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else repr(char)[1:-1] for char in text
    )


def json_of(value: object, **options: Any) -> str:
    """Return JSON of the same value that is safe to print, with control characters escaped.

    `options` are those of `json.dumps`.
    """
    text = json.dumps(value, ensure_ascii=False, **options)
    return _NOT_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def tag_label(key: str, value: str) -> str:
    """Return KEY:VALUE, or KEY if the value is empty, `true`, `none` or the key (Airflow)."""
    has_value = value.lower() not in ("", "true", "none") and value != key
    return f"{key}:{value}" if has_value else key


def strings_in(value: object) -> Iterator[str]:
    """Yield the strings in a value from JSON or YAML; keys of objects are left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings_in(item)


def searched_by_name(nodes: int) -> str:
    """Return a note about a search whose index is not complete."""
    return (
        f"The search of {counted(nodes, 'node')} covers only names so far, because the server"
        " started a short time ago. Search again in a few seconds."
    )


def unchecked_lateness(nodes: int) -> str:
    """Return a note about an answer that may lack late jobs and datasets."""
    of_nodes = "1 job or dataset" if nodes == 1 else f"{nodes:,} jobs and datasets"
    return (
        f"The lateness of {of_nodes} is not known yet, because the server started a short time ago,"
        " so problems may be missing. Repeat the request in a few seconds."
    )


def unread_sql(jobs: int) -> str:
    """Return what a search without the SQL of some jobs may lack."""
    return (
        f"The SQL of {counted(jobs, 'job')} was not read yet, so columns that only it names may be"
        " missing. Search again."
    )
