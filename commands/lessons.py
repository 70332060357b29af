"""Prepare the lessons of docs/learn/lessons, and check their results."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

from commands.lesson_checks import CHECKS, Exercise
from commands.output import say
from headwater.collect.files import read_files
from headwater.collect.store import opened_store
from headwater.errors import ConfigError, HeadwaterError
from headwater.redaction import Redactor
from headwater.settings import resolve
from lakehouse.errors import SetupError
from lakehouse.settings import REPOSITORY, Settings

LESSONS = REPOSITORY / "docs" / "learn" / "lessons"
RECORDED = REPOSITORY / "packages" / "headwater" / "tests" / "support" / "pipeline.jsonl.xz"
"""All events of one run of the pipeline, with two months of taxi rides."""


def lesson_folder(number: int) -> Path:
    """Return the folder with a lesson's text and the files of its starting state."""
    (folder,) = LESSONS.glob(f"{number}-*")
    return folder


def start_lesson(settings: Settings, number: int, *, reset: bool) -> None:
    """Prepare a lesson's starting state, unless it exists, and print the lesson's text."""
    folder, state = lesson_folder(number), _state(settings, number)
    if reset:
        shutil.rmtree(state, ignore_errors=True)
    if state.exists():
        say(f"{state} exists and was not changed; --reset starts the lesson again.")
    else:
        _prepare(folder, state)
        say(f"Prepared {state}.")
    say(f"The lesson is also at {(folder / 'README.md').relative_to(REPOSITORY)}.\n")
    say((folder / "README.md").read_text().rstrip())


def _prepare(folder: Path, state: Path) -> None:
    """Copy a lesson's files, and ingest its `events.jsonl`, or else the recorded events."""
    shutil.copytree(folder, state, ignore=shutil.ignore_patterns("README.md"))
    for packed in state.glob("*.xz"):
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    events = state / "events.jsonl"
    if not events.exists():
        events.write_bytes(lzma.decompress(RECORDED.read_bytes()))
    try:
        _ingest(events, state / "lineage.db")
    except SetupError:
        shutil.rmtree(state)
        raise


def _ingest(events: Path, database: Path) -> None:
    """Ingest a file of events, in this process, because starting `headwater` takes as long.

    Raises:
        SetupError: the log cannot be written, or an event was rejected.
    """
    settings = resolve({"database": str(database)})
    try:
        with opened_store(settings, is_local=True) as store:
            for _, lines in read_files([str(events)], Redactor.of(settings.redact)):
                store(lines)
                if lines.rejected:
                    raise ConfigError(lines.rejected_lines[0].reason)
    except HeadwaterError as error:
        raise SetupError(f"The lesson's events were not ingested: {error}") from error


def check_lesson(settings: Settings, number: int) -> bool:
    """Print what is right and what is missing; return True if nothing is missing.

    Raises:
        SetupError: the lesson was not started.
    """
    state = _state(settings, number)
    if not (state / "lineage.db").exists():
        raise SetupError(f"Lesson {number} was not started. Start it with: ./run lesson {number}")
    results = list(CHECKS[number](Exercise(state)))
    for result in results:
        say(f"right    {result.text}" if result.is_right else f"missing  {result.text}")
    missing = sum(not result.is_right for result in results)
    say(f"{missing} of {len(results)} missing." if missing else f"Lesson {number} is complete.")
    return not missing


def _state(settings: Settings, number: int) -> Path:
    return settings.state_dir / "lessons" / str(number)
