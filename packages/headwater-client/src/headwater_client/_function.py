"""A decorator that reports each call of a Python function as a run of a job.

Importing this module is fast. The first call with lineage loads openlineage-python.
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from headwater_client.capture import Capture, capturing, is_on, paused
from headwater_client.old_name import adopt
from headwater_client.parents import RunRef, parents

if TYPE_CHECKING:
    from headwater_client.events import ReportedRun
    from headwater_client.git import GitLocation

__all__ = ["lineage", "track"]

P = ParamSpec("P")
R = TypeVar("R")
Dataset = tuple[str, str]
"""Namespace and name of a dataset."""
Datasets = Sequence[Dataset] | Callable[..., Sequence[Dataset]]
"""Datasets, or a function that returns them for the arguments of a call."""

_OWN = ("HEADWATER_SPOOL", "HEADWATER_URL")
_TRANSPORTS = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT")
log = logging.getLogger("headwater")
_enclosing: ContextVar[tuple[RunRef, RunRef] | None] = ContextVar("_enclosing", default=None)
"""The run of the decorated function that is running in this thread, and its root."""


@overload
def lineage(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def lineage(
    *,
    inputs: Datasets = (),
    outputs: Datasets = (),
    job: str | None = None,
    namespace: str | None = None,
    capture: bool = True,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def lineage(
    function: Callable[P, R] | None = None,
    /,
    *,
    inputs: Datasets = (),
    outputs: Datasets = (),
    job: str | None = None,
    namespace: str | None = None,
    capture: bool = True,
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Report each call of a function as a run, with its inputs and outputs.

    Reads and writes of supported libraries are reported too, unless `capture` is False or
    HEADWATER_CAPTURE is `false`. `@lineage` without arguments reports only these. The parent is the
    run of the decorated function that called it in the same thread, or else that of the environment
    (OPENLINEAGE_PARENT_ID). The job is named after the module and the function unless `job` is
    given. Its namespace is `namespace`, OPENLINEAGE_NAMESPACE or `default`. Events go to
    HEADWATER_SPOOL or HEADWATER_URL, or else to openlineage-python's transport. Without any of
    them, or with OPENLINEAGE_DISABLED=true, the function is only called. Lineage never changes its
    result or exception: if a function for `inputs` or `outputs` fails, a warning is logged.

    Raises:
        TypeError: when decorating, if the function is asynchronous or a generator, or if a dataset
            in `inputs` or `outputs` is not a pair of strings.
    """
    for what, given in (("inputs", inputs), ("outputs", outputs)):
        if not callable(given):
            _check_pairs(what, given)

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        # The call of such a function ends before its work begins.
        checks = (inspect.iscoroutinefunction, inspect.isgeneratorfunction)
        if any(check(function) for check in (*checks, inspect.isasyncgenfunction)):
            raise TypeError(f"lineage: received {function.__qualname__}, expected a plain function")
        name = (job or f"{_module(function)}.{function.__qualname__}").replace("/", ".")

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if message := adopt(os.environ):
                log.warning("%s", message)
            if not _is_on(os.environ):
                return function(*args, **kwargs)

            def datasets() -> Iterator[Sequence[Dataset]]:
                for what, item in (("inputs", inputs), ("outputs", outputs)):
                    given = item(*args, **kwargs) if callable(item) else item
                    yield _check_pairs(what, given)

            about = functools.partial(_described, function)
            recorded = Capture() if capture and is_on() else None
            with _reported(about, namespace, name, datasets, recorded):
                return function(*args, **kwargs)

        return call

    return decorate if function is None else decorate(function)


def _check_pairs(what: str, datasets: Sequence[Dataset]) -> Sequence[Dataset]:
    """Return the datasets. Raises TypeError if one is not a pair of strings."""
    for number, item in enumerate(datasets):
        if not (isinstance(item, tuple | list) and list(map(type, item)) == [str, str]):
            raise TypeError(
                f"lineage: {what}[{number}]: received {item!r}, expected a pair of namespace and "
                "name, such as ('file', '/data/trips.csv')"
            )
    return datasets


def _module(function: Callable[..., object]) -> str:
    """Return the module of a function; for a script, the name of its file."""
    if function.__module__ == "__main__" and (file := inspect.getsourcefile(function)):
        return Path(file).stem
    return function.__module__


def _is_on(environment: Mapping[str, str]) -> bool:
    if environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return False
    return any(environment.get(name) for name in (*_OWN, *_TRANSPORTS))


@contextmanager
def track(job: str, *, namespace: str | None = None) -> Iterator[Capture]:
    """Report the block as a run of a job, with the reads and writes of supported libraries.

        with headwater_client.track("daily_report") as captured:
            pandas.read_csv("in.csv").to_parquet("out.parquet")
        print(captured.reads, captured.writes)

    Namespace, parent and destination are those of `lineage`. Without a destination, nothing is
    sent, but the reads and writes can still be printed.
    """
    if message := adopt(os.environ):
        log.warning("%s", message)
    recorded = Capture()
    with ExitStack() as stack:
        if _is_on(os.environ):
            about = functools.partial(_described, None)
            name = job.replace("/", ".")
            stack.enter_context(_reported(about, namespace, name, lambda: iter(((), ())), recorded))
        elif is_on():
            stack.enter_context(capturing(recorded))
        yield recorded


@contextmanager
def _reported(
    about: Callable[..., ReportedRun],
    namespace: str | None,
    name: str,
    datasets: Callable[[], Iterator[Sequence[Dataset]]],
    capture: Capture | None,
) -> Iterator[None]:
    """Send START, then COMPLETE, FAIL, or ABORT if the process receives a signal to end.

    `about` returns the run of a reference, its parents and its datasets; `datasets` yields the
    inputs and the outputs. Both are called once. `capture` records the block, None for nothing.
    Errors in lineage are logged: only those of the block itself are raised.
    """
    namespace = namespace or os.environ.get("OPENLINEAGE_NAMESPACE") or "default"
    ref, ancestors = RunRef.new(namespace, name), _enclosing.get() or parents(os.environ)
    send, close = _destination()

    @functools.cache
    def described() -> ReportedRun:
        return about(ref, ancestors, *datasets())

    def report(state: str, error: BaseException | None = None) -> None:
        try:
            with paused():
                described()  # before the start time: its first call imports openlineage-python
                run: Callable[[], ReportedRun] = described
                if capture is not None and state != "START":
                    run = _with_captured(described(), capture, send)
                message = None if error is None else _message(error)
                send(run, state, datetime.now(UTC), message)
        except Exception as problem:  # lineage must never break a function
            log.warning("lineage of %s is not complete: %r", ref.job, problem)

    report("START")
    token = _enclosing.set((ref, ancestors[1] if ancestors else ref))
    try:
        with capturing(capture) if capture is not None and is_on() else nullcontext():
            yield
    except BaseException as error:
        report("FAIL" if isinstance(error, Exception) else "ABORT", error)
        raise
    else:
        report("COMPLETE")
    finally:
        _enclosing.reset(token)
        for problem in close():
            log.warning("%s", problem)


def _with_captured(run: ReportedRun, capture: Capture, send: Send) -> Callable[[], ReportedRun]:
    """Send the runs of the captured queries; return the run with the captured datasets.

    The run is returned as a function, because `send` takes one.
    """
    from headwater_client._captured_run import query_runs, with_captured

    for query, start, end in query_runs(run, capture):
        send(functools.partial(_same, query), "START", start, None)
        send(functools.partial(_same, query), "COMPLETE", end or datetime.now(UTC), None)
    return functools.partial(_same, with_captured(run, capture))


def _same(run: ReportedRun) -> ReportedRun:
    return run


def _message(error: BaseException) -> str:
    from headwater_client.masking import mask_text

    return mask_text(f"{type(error).__name__}: {error}")


Send = Callable[[Callable[[], "ReportedRun"], str, datetime, str | None], None]


def _destination() -> tuple[Send, Callable[[], list[str]]]:
    """Return the function that sends an event, and the one that waits briefly at the end.

    The first takes a function that returns the run, the state, the time and the error message; the
    second returns the problems. HEADWATER_SPOOL or HEADWATER_URL come before openlineage-python's
    transport.
    """
    try:
        if any(os.environ.get(name) for name in _OWN):
            from headwater_client._report import Report

            report = Report.from_environment(os.environ)
            return (
                lambda run, *about: report.send(lambda: run().to_json(*about)),
                report.close,
            )
        client = _client()
        return lambda run, *about: client.emit(run().event(*about)), list
    except Exception as problem:  # lineage must never break a function
        log.warning("lineage is not sent: %r", problem)
        return lambda *_: None, list


@functools.cache
def _client() -> Any:
    from openlineage.client import OpenLineageClient

    return OpenLineageClient()


def _described(
    function: Callable[..., object] | None,
    ref: RunRef,
    ancestors: tuple[RunRef, RunRef] | None,
    *datasets: Sequence[Dataset],
) -> ReportedRun:
    """Return the run with its datasets, and the docstring and git location of its function.

    `function` is None for a block of code. `ancestors` are the parent and the root, and `datasets`
    the inputs and the outputs.
    """
    from headwater_client._declared import Declaration, Declared
    from headwater_client._declared_run import declared_run

    job = Declaration(ref.namespace, ref.job, inspect.getdoc(function) if function else None)
    inputs, outputs = (tuple(Declaration(*name) for name in side) for side in datasets)
    file = Path((inspect.getsourcefile(function) if function else None) or "")
    declared = Declared(file, job, inputs, outputs)
    return declared_run(declared, ref, ancestors, _location(file), "PYTHON")


@functools.cache
def _location(file: Path) -> GitLocation | None:
    from headwater_client.git import git_location

    return git_location(file) if file.name else None
