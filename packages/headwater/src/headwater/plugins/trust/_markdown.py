"""Print the report of a pull request as Markdown.

Names come from events and files. They are shown as code, so that they cannot add markup. The same
applies to each part of a sentence that is not a plain word.

The functions below yield lines. `_code` and `_plain` escape all texts of others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from headwater.console.render import print_line
from headwater.text import counted, escaped

if TYPE_CHECKING:
    from headwater.health.models import Finding
    from headwater.plugins.trust._pull_request import Affected, Change, Report

_SHOWN = 50  # rows of a table
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*|[-–=→]|")
_TOKEN = re.compile(r"""(["'(]*)(.*?)(["'),.;:?!]*)""")  # a word within quotes and punctuation
_PART = re.compile(r"`([^`]+)`|[^\s`]+|`")  # code, a word, or a single backtick
_SEAM = re.compile(r"`( ?)`")  # between two names that become one
_MARKER = "<!-- headwater check -->"  # finds the comment to update


def print_report(report: Report) -> None:
    """Print the report: what changed, what it affects, and the results of checks."""
    print_line("\n".join(_report(report)))


def _report(report: Report) -> Iterator[str]:
    """Yield the lines of the comment on a pull request."""
    yield from (_MARKER, "## Lineage of this pull request", "")
    yield f"Compared with {_code(report['base'][:12])}."
    yield from _contract(report)
    yield from _sql(report)
    yield from _affected(report)
    yield from _check(report)
    yield from _gates(report)
    if report["missing"]:
        yield from ("", "### Missing", "")
        yield from (f"- {_plain(text)}" for text in report["missing"])


def _contract(report: Report) -> Iterator[str]:
    changes = report["contractChanges"]
    yield from ("", f"### Contract {_code(report['contract'])}: {_number(changes, 'change')}")
    yield from _changes(changes, "job or dataset", "declares")


def _changes(changes: list[Change], subject: str, text: str) -> Iterator[str]:
    """Yield a table of changes; `subject` and `text` are the titles of its columns."""
    rows = [
        (item["mark"], _code(item["subject"]), f"{item['kind']} {_code(item['text'])}".strip())
        for item in changes
    ]
    yield from _table(("", subject, text), rows)


def _sql(report: Report) -> Iterator[str]:
    """Yield the part about changed SQL files; nothing without any."""
    if not report["sql"]:
        return
    yield from ("", f"### SQL: {counted(len(report['sql']), 'changed file')}")
    for file in report["sql"]:
        edges = _number(file["edges"], "changed edge")
        if file["unread"]:
            edges = f"{edges}; others are unknown" if file["edges"] else "changed edges are unknown"
        yield from ("", f"{_code(file['path'])}: {edges}")
        yield from _changes(file["edges"], "target", "source")
        for text in file["unread"]:
            yield from ("", f"Not understood: {_plain(text)}")


def _affected(report: Report) -> Iterator[str]:
    """Yield the part about nodes downstream of the changes; nothing if they are unknown."""
    if (affected := report["affected"]) is None:
        return
    yield from ("", f"### Downstream: {_number(affected, 'affected node')}")
    rows = [_affected_row(item) for item in affected]
    yield from _table(("node", "kind", "steps", "owners", "because of"), rows)
    if any(file["unread"] for file in report["sql"]):
        yield from ("", "Nodes downstream of SQL that was not understood are not listed.")
    if report["unknown"]:
        yield from ("", "Not in the lineage: " + ", ".join(map(_code, report["unknown"])) + ".")


def _affected_row(item: Affected) -> Sequence[str]:
    node = item["node"]
    owners = ", ".join(map(_code, node["owners"] or node["jobOwners"])) or "unknown"
    changed = ", ".join(map(_code, item["changed"]))
    return _code(node["name"]), _code(node["kind"]), str(node["distance"]), owners, changed


def _check(report: Report) -> Iterator[str]:
    """Yield the part about the contract check; nothing if the server did not respond."""
    if (answer := report["check"]) is None:
        return
    findings = answer["findings"]
    result = "passed" if answer["passed"] else counted(len(findings), "difference")
    yield from ("", f"### Contract check against the captured lineage: {result}")
    yield from _table(("kind", "subject", "finding"), map(_finding_row, findings))


def _gates(report: Report) -> Iterator[str]:
    """Yield the part about the gates of the datasets, with the violations of those that failed."""
    if (answer := report["gate"]) is None:
        return
    failed = [item for item in answer["datasets"] if not item["passed"]]
    count = f"{len(answer['datasets']) - len(failed)} of {len(answer['datasets'])} passed"
    yield from ("", f"### Gates of changed and affected datasets: {count}")
    rows = (
        (_code(item["id"].removeprefix("dataset:")), _code(found["kind"]), _place(found))
        for item in failed
        for found in item["violations"]
    )
    yield from _table(("dataset", "rule", "violation"), rows)


def _finding_row(found: Finding) -> Sequence[str]:
    return _code(found["kind"]), _code(_subject(found)), _plain(found["message"])


def _place(found: Finding) -> str:
    muted = " (muted)" if found.get("isMuted") else ""
    return f"{_code(_subject(found))} {_plain(found['message'])}{muted}"


def _subject(found: Finding) -> str:
    subject = found["subject"].removeprefix("job:").removeprefix("dataset:")
    return ".".join(filter(None, (subject, found["column"])))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table of at most 50 rows, and the number of the others; nothing without rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return
    yield from ("", f"| {' | '.join(header)} |", "|---" * len(header) + "|")
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield from ("", f"… and {len(lines) - _SHOWN} more (`--json` has all)")


def _number(items: Sequence[object], noun: str) -> str:
    return counted(len(items), noun) if items else f"no {noun}s"


def _code(text: str) -> str:
    """Return a name as code; a table needs its bars escaped, even in code."""
    return f"`{escaped(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`" if text else ""


def _plain(text: str) -> str:
    """Return a sentence as text, with everything except plain words and punctuation as code.

    `reads db.t (new)` becomes "reads `db.t` (new)". Neighboring names become one piece of code.
    """

    def shown(part: re.Match[str]) -> str:
        if part[1]:
            return _code(part[1])
        match = _TOKEN.fullmatch(part[0])
        before, name, after = match.groups() if match else ("", part[0], "")
        return part[0] if _WORD.fullmatch(name) else f"{before}{_code(name)}{after}"

    return _SEAM.sub(r"\1", _PART.sub(shown, " ".join(text.split())))
