"""Read the SQL of all runs in the background, so that queries find the results.

Queries read a text themselves if its result is missing, and get the same result. This reader
therefore need not be exact: it only has to find nearly all texts that queries will read. A thread
finds the texts in short steps, and a process of low priority reads them.

- text: the SQL of a run; its key identifies it together with the other arguments of reading, such
  as the known columns
- packed: a result as bytes, as it is stored in the log's database and kept in RESULTS, the cache of
  this process that queries use
- pass: a check of all runs, in contrast to a check of the changed ones only
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from headwater.errors import LogError
from headwater.events import JobRef
from headwater.events.facets import Schema, Sql
from headwater.graph.sql_lineage import TextNames, text_of_run
from headwater.identity import DatasetName
from headwater.log import EventLog
from headwater.plugins.sql import store
from headwater.plugins.sql.process import ProcessError, ReaderProcess
from headwater.projection import Run, RunKey, State
from headwater.projection.derived import records_of
from headwater.projection.facet_books import FacetBook
from headwater.projection.live import Live
from headwater.settings import Settings
from headwater.sql.facet import can_read_sql
from headwater.stated_schemas import definitions_of, text_at_arrival
from headwater.worker import ThreadedWorker

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from headwater.sql.reader import Arguments

log = logging.getLogger(__name__)

_STEP_SECONDS = 0.002
"""Maximum time of a step. Queries wait for the state meanwhile."""
_REST = 3
"""The pause after a step, in multiples of its time."""
_MOST_TEXTS, _MOST_CHARACTERS = 20, 100_000
"""Limits of the texts that the process reads at a time; they are read in about 0.1 s."""
_MOST_ROWS = 500
"""Results that are stored in one transaction."""
_POLL_SECONDS = 1.0
_RETRY_SECONDS = 60.0
_IDLE_SECONDS = 60.0
_DAY = 86_400.0


class SqlReader(ThreadedWorker):
    """A background reader of the SQL texts that have no stored result.

    Only its thread calls `step`; queries of other threads meanwhile use the results in RESULTS. A
    pass over all runs is made at the start and once a day, and removes stored results that no run
    needs.
    """

    def __init__(self, live: Live) -> None:
        """Create the worker of a server; `_READERS` keeps it for the metrics."""
        from headwater.plugins.sql.results import RESULTS, reader_version

        super().__init__("headwater-sql")
        self._live, self._results, self._version = live, RESULTS, reader_version()
        self.process = ReaderProcess()
        self._state: State | None = None
        self._revision = -1
        self._passed = 0.0  # when the last pass over all runs began
        self._jobs: dict[JobRef, None] = {}  # to check with all their runs
        self._runs: dict[RunKey, None] = {}  # to check
        self._names: dict[DatasetName, None] = {}  # of datasets whose schema may have changed
        self._inputs: dict[DatasetName, int] = {}  # that reading depends on, as last seen
        self._last: tuple[JobRef, set[object]] | None = None  # the texts of the last job
        self._stored: set[bytes] = set()
        self._failed: set[bytes] = set()
        self._used: set[bytes] | None = None  # keys that the current pass found
        self._rows: dict[bytes, bytes] = {}  # to store
        self._is_warned = False
        _READERS[live] = self

    @property
    def unread(self) -> int:
        """The number of jobs with runs that are still to be checked."""
        return len({*tuple(self._jobs), *(key.job for key in tuple(self._runs))})

    def start(self) -> None:
        """Load the stored results, then start the thread."""
        try:
            self.load()
        except LogError as error:
            self._warn(str(error))
        super().start()

    def stop(self) -> None:
        """Stop the thread and the process."""
        self._stopping.set()
        self.process.kill()
        super().stop()
        self.close()

    def close(self) -> None:
        """End the process; it is started again if more is read."""
        self.process.close()

    def load(self) -> None:
        """Load the results that this version of the reader stored. Raises LogError."""
        self._stored |= load_results(self._live.log)

    def run(self) -> None:
        """Read texts until stopped."""
        pause, last = 0.0, time.monotonic()
        while not self._stopping.wait(pause):
            try:
                began = time.perf_counter()
                if self.step():
                    last = time.monotonic()
                    pause = (time.perf_counter() - began) * _REST
                else:
                    pause = _POLL_SECONDS
            except LogError as error:  # the database may respond again
                self._warn(str(error))
                pause = _RETRY_SECONDS
            except Exception:
                log.exception("reading SQL in the background failed; queries read it themselves")
                pause = _RETRY_SECONDS
            if time.monotonic() - last > _IDLE_SECONDS:
                self.process.close()

    def read_all(self) -> None:
        """Read and store everything that is unread. Raises LogError."""
        while self.step():
            pass

    def step(self) -> bool:
        """Do the next part of the work; return False if nothing is left. Raises LogError.

        Find texts, read them, store their results, and at the end of a pass remove those that no
        run needs. Texts that a query has read in the meantime are stored without reading them
        again.
        """
        found, is_done = self._unread()
        texts = {key: item for key, item in found.items() if not self._take_known(key)}
        if texts:
            self._read(texts)
        if self._rows and (is_done or len(self._rows) >= _MOST_ROWS):
            store.add(self._live.log, self._version, list(self._rows.items()))
            self._stored |= self._rows.keys()
            self._rows.clear()
        if is_done and self._used is not None:
            unused = self._stored - self._used
            self._used = None
            store.remove(self._live.log, list(unused))
            self._stored -= unused
            for key in unused:
                self._results.remove(key)
        return not is_done

    def _unread(self) -> tuple[dict[bytes, tuple[str, Arguments]], bool]:
        """Return texts without a stored result, by key, and True if all runs were checked.

        A step ends after 2 ms, 20 texts or 100,000 characters. Each item is a text with the other
        arguments of `read_script`, of which the key is the identity.
        """
        from headwater.plugins.sql.results import key_of

        found: dict[bytes, tuple[str, Arguments]] = {}
        characters = 0
        with self._live.reading() as state:
            until = time.perf_counter() + _STEP_SECONDS
            self._note_changes(state)
            while self._is_left and time.perf_counter() < until:
                run = self._next(state)
                if run is None or self._is_repeated(run):
                    continue
                for text, arguments in _readings(state, run):
                    key = key_of(text, arguments)
                    if self._used is not None:
                        self._used.add(key)
                    if key in self._stored or key in self._failed or key in self._rows:
                        continue
                    found[key] = text, arguments
                    characters += len(text)
                if len(found) >= _MOST_TEXTS or characters > _MOST_CHARACTERS:
                    break
            return found, not self._is_left

    @property
    def _is_left(self) -> bool:
        return bool(self._runs or self._names or self._jobs)

    def _note_changes(self, state: State) -> None:
        """Queue the runs whose texts or schemas changed since the last step.

        `state` may be another object than before, after old events were deleted. If the changes
        since the last step are not known any more, all jobs are checked.
        """
        since, is_same = self._revision, state is self._state
        is_due = time.monotonic() - self._passed >= _DAY
        if is_same and state.revision == since and not is_due:
            return
        self._last = None
        runs, names = state.changed_runs.since(since), state.changed_names.since(since)
        renamed = state.renamed.since(since)
        self._state, self._revision = state, state.revision
        if not is_same or is_due or runs is None or names is None or renamed is None:
            self._jobs, self._runs, self._names = dict.fromkeys(state.jobs), {}, {}
            self._passed, self._used = time.monotonic(), set()
            return
        self._runs |= dict.fromkeys(runs)
        self._names |= dict.fromkeys((*names, *renamed))

    def _are_inputs_changed(self, state: State, dataset: DatasetName) -> bool:
        """Return True if the names or the schema of a dataset changed, or at the first call.

        These are the inputs of reading: texts that use the dataset then have other arguments.
        """
        records = records_of(state, dataset)
        schemas = (record.facets.packed(Schema.KEY) for record in records)
        stated = definitions_of(state, dataset)
        inputs = hash((*state.identity.names(dataset), *schemas, stated))
        before = self._inputs.get(dataset)
        self._inputs[dataset] = inputs
        return inputs != before

    def _next(self, state: State) -> Run | None:
        """Take an item from a queue; return it if it is a run with SQL.

        Return None if other runs were queued instead, or if the item has no SQL; call it again
        then.
        """
        if self._runs:
            key, _ = self._runs.popitem()
            run = state.runs.get(key)
            return run if run is not None and _has_sql(run.code) else None
        if self._names:
            name, _ = self._names.popitem()
            for dataset in state.identity.datasets(name):
                if self._are_inputs_changed(state, dataset):
                    self._jobs |= dict.fromkeys(_users(state, dataset))
            return None
        ref, _ = self._jobs.popitem()
        if (job := state.jobs.get(ref)) is not None and _has_sql(job.facets):
            self._runs = dict.fromkeys(job.runs)
        return None

    def _is_repeated(self, run: Run) -> bool:
        """Return True if a run with the same job, text and datasets was just checked.

        Its text has the same key. Runs of one job follow each other, so only those of the last job
        are remembered.
        """
        text = (run.code.packed(Sql.KEY), frozenset(run.inputs), frozenset(run.outputs))
        if self._last is None or self._last[0] != run.key.job:
            self._last = run.key.job, set()
        texts = self._last[1]
        is_known = text in texts
        texts.add(text)
        return is_known

    def _take_known(self, key: bytes) -> bool:
        """Queue a result that a query computed to be stored; return False if there is none."""
        if (packed := self._results.packed(key)) is None:
            return False
        self._rows[key] = packed
        return True

    def _read(self, texts: dict[bytes, tuple[str, Arguments]]) -> None:
        """Read texts in the process, and queue their results to be stored.

        If that fails, each text is read alone; a process that ended is started again. A text that
        fails alone, or whose result must not be stored (see `results.pack`), is not tried again by
        this reader.
        """
        try:
            packed = self.process.read(list(texts.values()))
        # ProcessError: it ended or took too long. TypeError of orjson: not valid Unicode.
        except (ProcessError, TypeError) as error:
            if self._stopping.is_set():  # `stop` killed the process
                return
            if len(texts) == 1:
                log.debug("a SQL text cannot be read in the background: %s", error)
                self._failed |= texts.keys()
                return
            for key, item in texts.items():
                self._read({key: item})
            return
        for key, result in zip(texts, packed, strict=True):
            if result is None:
                self._failed.add(key)
            else:
                self._rows[key] = result
                self._results.add(key, result)

    def _warn(self, reason: str) -> None:
        if not self._is_warned:
            log.warning("storing the results of reading SQL failed (%s); will retry", reason)
        self._is_warned = True


_READERS: WeakKeyDictionary[Live, SqlReader] = WeakKeyDictionary()


def load_results(event_log: EventLog) -> set[bytes]:
    """Load the results that this version of the reader stored; return their keys.

    Raises:
        LogError: the store does not respond.
    """
    from headwater.plugins.sql.results import RESULTS, is_intact, reader_version

    store.remove_other_versions(event_log, reader_version())
    keys = set()
    for key, packed in store.results_of(event_log, reader_version()):
        if RESULTS.packed(key) != packed:
            if not is_intact(key, packed):
                continue
            RESULTS.add(key, packed)
        keys.add(key)
    return keys


def before_restore(event_log: EventLog) -> None:
    """Load the stored results, so that events which are read again need no parser."""
    try:
        if can_read_sql():
            load_results(event_log)
    except LogError as error:
        log.warning("the results of reading SQL were not loaded: %s", error)


def _users(state: State, dataset: DatasetName) -> Iterable[JobRef]:
    """Return the jobs with SQL that use a dataset."""
    keys = (
        key for record in records_of(state, dataset) for key in (record.readers | record.writers)
    )
    jobs = dict.fromkeys(key.job for key in keys)
    return [ref for ref in jobs if (job := state.jobs.get(ref)) and _has_sql(job.facets)]


def _readings(state: State, run: Run) -> Iterator[tuple[str, Arguments]]:
    """Yield the text that queries about a run read, with the other arguments.

    The first item has no known columns, as when its event arrives, or is read again by a start
    without a snapshot (see `events._sql_datasets`). The second one has the columns of tables that
    are known when a query is answered. Arguments that are a str are the reason why the text cannot
    be read.
    """
    if (text := text_of_run(state, run)) is None:
        return
    of_event = text_at_arrival(text, run).arguments()
    names = TextNames(state, run, text)
    for arguments in (of_event, text.arguments(names.columns, names.stated)):
        if not isinstance(arguments, str):
            yield text.text, arguments


def _has_sql(facets: FacetBook) -> bool:
    return facets.packed(Sql.KEY) != b"{}"


def workers(settings: Settings) -> Callable[[Live], list[SqlReader]]:
    """Return a function that creates the reader, if the extra `sql` is installed."""
    return lambda live: [SqlReader(live)] if can_read_sql() else []


def metrics(live: Live) -> Iterator[Metric]:
    """Yield the number of jobs whose SQL was not read."""
    from prometheus_client.core import GaugeMetricFamily

    if (reader := _READERS.get(live)) is not None:
        about = "Jobs whose SQL was not read in the background yet."
        yield GaugeMetricFamily("headwater_sql_unread_jobs", about, float(reader.unread))
