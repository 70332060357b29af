"""Run a command with unchanged terminal, files, signals and exit code."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import FrameType
from typing import IO, TYPE_CHECKING

from headwater_client._declared import Declared
from headwater_client._report import Report
from headwater_client.capture import Capture, is_on
from headwater_client.capture._process import environment_of, error_of, is_python, read_folder
from headwater_client.parents import RunRef, child_environment, parents

if TYPE_CHECKING:
    from headwater_client.events import ReportedRun

_FORWARDED = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2")
_OF_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT)
_NOT_FOUND, _NOT_RUN = 127, 126  # like a shell's


def run_command(
    declared: Declared,
    command: Sequence[str],
    report: Report,
    heartbeat: float,
    environment: Mapping[str, str],
) -> int:
    """Run the command as a run of the declared job, with RUNNING every `heartbeat` seconds.

    Its environment names this run as the parent of what it reports itself. A Python process also
    writes what its libraries read and write to a folder, which is read at the end. The START is
    sent after the command has started, so that it does not wait.

    Return its exit code; the negated signal number if a signal ended it.
    """
    ref, ancestors = RunRef.new(declared.job.namespace, declared.job.name), parents(environment)
    root = ancestors[1] if ancestors else ref
    started = datetime.now(UTC)
    folder = _capture_folder(command, environment)
    variables = environment_of(folder, environment) if folder else {}
    child = Child(command, {**environment, **child_environment(ref, root), **variables})

    @cache
    def run() -> ReportedRun:
        from headwater_client._declared_run import declared_run
        from headwater_client.git import git_location

        return declared_run(declared, ref, ancestors, git_location(declared.path))

    def send(type_: str, at: datetime, error: str | None = None) -> None:
        report.send(lambda: run().to_json(type_, at, error))

    send("START", started)
    is_over = threading.Event()

    def beat() -> None:
        while not is_over.wait(heartbeat):
            send("RUNNING", datetime.now(UTC))

    beats = threading.Thread(target=beat, daemon=True)
    if heartbeat:
        beats.start()
    code = child.wait()
    is_over.set()
    if heartbeat:
        beats.join()
    type_, error = outcome_of(command[0], code, child)
    ended = datetime.now(UTC)
    if folder:
        if type_ == "FAIL" and (raised := error_of(folder, child.process)):
            from headwater_client.masking import mask_text

            error = f"{error}: {mask_text(raised)}"
        capture = read_folder(folder)
        rmtree(folder, ignore_errors=True)
        _send_end(run, capture, report, (type_, ended, error))
    else:
        send(type_, ended, error)
    for problem in report.close():
        sys.stderr.write(f"headwater: {problem}\n")
    return code


def _capture_folder(command: Sequence[str], environment: Mapping[str, str]) -> Path | None:
    """Return a new folder for the records of a Python process; None if nothing is captured."""
    wanted = environment.get("HEADWATER_CAPTURE", "").strip().lower() == "true"
    if is_on(environment) and (wanted or is_python(command)):
        with suppress(OSError):
            return Path(mkdtemp(prefix="headwater-capture-"))
    return None


def _send_end(
    run: Callable[[], ReportedRun],
    capture: Capture,
    report: Report,
    event: tuple[str, datetime, str | None],
) -> None:
    """Send the runs of the captured queries, and the end of the run with the captured datasets.

    `run` returns the run without these; `event` is the type of the last event, its time and the
    error.
    """

    @cache
    def queries() -> list[tuple[ReportedRun, datetime, datetime | None]]:
        from headwater_client._captured_run import query_runs

        return list(query_runs(run(), capture))

    def end() -> bytes:
        from headwater_client._captured_run import with_captured

        return with_captured(run(), capture).to_json(*event)

    def of_query(number: int, state: str) -> bytes:
        query, start, end = queries()[number]
        return query.to_json(state, start if state == "START" else end or event[1])

    for number in range(len(capture.queries)):
        for state in ("START", "COMPLETE"):
            report.send(partial(of_query, number, state))
    report.send(end)


def end_like(code: int) -> int:
    """Exit by the signal that ended the command; otherwise return its exit code."""
    if code >= 0:
        return code
    sys.stdout.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # only the command's core dump matters
    with suppress(OSError, ValueError):  # SIGKILL has no disposition to set
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    return 128 - code  # the signal did not end this process


class Child:
    """The command's process, to which signals are forwarded."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], *, has_pipes: bool = False
    ) -> None:
        """Start the command; with `has_pipes`, its input and output are pipes to this process.

        If it cannot be started, `problem` says why, and the exit code is that of a shell. Signals
        that arrive before it has started (`_early`) are sent then.
        """
        self.problem: str | None = None
        self.was_stopped = False
        self._early: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._code = 0
        for name in _FORWARDED:
            number = signal.Signals[name]
            if signal.getsignal(number) is not signal.SIG_IGN:  # keep it ignored, as nohup does
                signal.signal(number, self._forward)
        try:
            # The command inherits all open files: a shell may pass more than three.
            pipe = subprocess.PIPE if has_pipes else None
            self._process = subprocess.Popen(
                command, env=environment, close_fds=False, stdin=pipe, stdout=pipe
            )
        except OSError as error:
            self.problem = f"{command[0]}: {error.strerror}"
            self._code = _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_RUN
            sys.stderr.write(f"headwater: {self.problem}\n")
        for early in self._early:
            self._send(early)

    def wait(self) -> int:
        """Wait for the end of the process and return its exit code."""
        return self._process.wait() if self._process else self._code

    @property
    def process(self) -> int:
        """Return the id of the process; 0 if it could not be started."""
        return self._process.pid if self._process else 0

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes]] | None:
        """Return the pipes to its input and from its output, if it has any."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        return process.stdin, process.stdout

    def _forward(self, number: int, _: FrameType | None) -> None:
        """Send a signal that this process received to the command.

        `was_stopped` becomes True if it is a signal to end. A signal that arrives before the
        command has started is kept.
        """
        self.was_stopped |= number not in (signal.SIGUSR1, signal.SIGUSR2)
        if number in _OF_TERMINAL and _is_in_foreground():
            return  # the terminal has also sent it to the command
        if self._process is None:
            self._early.append(number)
        else:
            self._send(number)

    def _send(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)


def _is_in_foreground() -> bool:
    """Return True if the terminal sends Ctrl-C to this process group, and so to the command."""
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def outcome_of(program: str, code: int, child: Child) -> tuple[str, str | None]:
    """Return the type of the last event, and the error message unless the command succeeded."""
    if child.problem:
        return "FAIL", child.problem
    if code == 0:
        return "COMPLETE", None
    if code > 0:
        return ("ABORT" if child.was_stopped else "FAIL"), f"{program} ended with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    name = names.get(-code, f"signal {-code}")  # real-time signals have no name
    return ("FAIL" if -code in _CRASHES else "ABORT"), f"{program} was ended by {name}"
