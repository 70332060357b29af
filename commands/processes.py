"""Start services and stop all their processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import psutil

from lakehouse.errors import SetupError
from lakehouse.settings import REPOSITORY

MARK = "PIPELINE_SERVICES"
"""Environment variable that marks a service's processes, including those that Airflow tasks start
in new sessions."""

GRACE_SECONDS = 15


class Service:
    """Background programs that form one service, with a log file."""

    def __init__(self, name: str, commands: list[list[str]], environ: dict[str, str], log: Path):
        self.name = name
        self.log = log
        self._mark = uuid.uuid4().hex
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            self._start = out.tell()
            self._processes = [
                subprocess.Popen(
                    command,
                    env=environ | {MARK: self._mark},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # only this process handles Ctrl-C
                )
                for command in commands
            ]

        self.started = datetime.now(UTC)

    @property
    def pid(self) -> int:
        """The process id of the first program."""
        return self._processes[0].pid

    def check(self) -> None:
        """Check that all programs run.

        Raises:
            SetupError: a program has ended; the message has the end of the log.
        """
        if any(process.poll() is not None for process in self._processes):
            raise SetupError(f"{self.name} ended unexpectedly. {self._log_tail()}")

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait for a condition.

        Raises:
            SetupError: a program ended, or the time ran out; the message has the end of the log.
        """
        deadline = time.monotonic() + seconds
        pause = 0.1
        while not ready():
            self.check()
            if time.monotonic() > deadline:
                raise SetupError(
                    f"{self.name} is not ready after {seconds:.0f} s. {self._log_tail()}"
                )
            time.sleep(pause)
            pause = min(1.0, pause * 1.2)  # each check slows down the programs that start

    def stop(self) -> None:
        """End the programs and everything they started."""
        for program in self._processes:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGTERM)
        alive = [psutil.Process(p.pid) for p in self._processes if p.poll() is None]
        psutil.wait_procs(alive, timeout=GRACE_SECONDS)
        for signal_ in (signal.SIGTERM, signal.SIGKILL):
            left = self.processes()
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal_)
            psutil.wait_procs(left, timeout=GRACE_SECONDS)
        for program in self._processes:
            program.wait()

    def processes(self) -> list[psutil.Process]:
        """Return all running processes of the service.

        They have the mark in their environment or belong to a program's session. A process that
        changes its title, such as an Airflow worker, overwrites its environment.
        """
        sessions = {program.pid for program in self._processes}
        running = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                is_ours = (
                    os.getsid(process.pid) in sessions or process.environ().get(MARK) == self._mark
                )
                if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                    running.append(process)
        return running

    def output(self) -> str:
        """Return the programs' output since their start."""
        return self.log.read_bytes()[self._start :].decode(errors="replace")

    def _log_tail(self) -> str:
        lines = self.output().splitlines()[-15:]
        return f"The end of {self.log}:\n" + "\n".join(lines)


@contextmanager
def stopping(services: list[Service]) -> Iterator[None]:
    """Stop all services in the list at the end of the block.

    SIGTERM and SIGHUP end the block like Ctrl-C. Signals are ignored while services stop.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        if services:
            sys.stderr.write("Stopping ...\n")
        for service in reversed(services):
            service.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


def become(command: list[str], environ: dict[str, str]) -> NoReturn:
    """Replace this process by a command, which then receives signals and sets the exit code."""
    sys.stdout.flush()
    os.execvpe(command[0], command, environ)


def wait_for_interrupt(services: list[Service]) -> None:
    """Wait until Ctrl-C.

    Raises:
        SetupError: a service ended unexpectedly.
    """
    with suppress(KeyboardInterrupt):
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        for service in services:
            service.check()


def require_free_ports(ports: Iterable[tuple[int, str, str]]) -> None:
    """Check that ports are free; each item has the port, its service and its setting.

    Raises:
        SetupError: at least one port is in use; the message names all of them.
    """
    messages = [
        f"Port {port} for {what} is already in use. Stop the other process, or choose another port "
        f"with {setting}=<port> in the environment or {setting.lower()} in settings.yaml."
        for port, what, setting in ports
        if not _is_free(port)
    ]
    if messages:
        raise SetupError("\n".join(messages))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def run_together(commands: Sequence[Sequence[str]]) -> int:
    """Run commands at the same time, print their output in order; return the first error code."""
    running = [
        subprocess.Popen(line, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for line in commands
    ]
    for process in running:
        sys.stdout.buffer.write(process.communicate()[0])
        sys.stdout.flush()
    return next((process.returncode for process in running if process.returncode), 0)
