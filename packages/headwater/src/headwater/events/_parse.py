"""Parse the events that producers send in practice; reject only those without an identity.

Accepted: 1.x events, lower-case and unknown event types (as OTHER), a missing `producer`,
`_producer` or `schemaURL`, null facets, times without a zone. Rejected, with path, value and
expected value: no time, no run id, no name or namespace of a job or a dataset. A `path` is a place
in the JSON, such as `inputs[0].name`; `digest` the hash of canonical JSON.
"""

from __future__ import annotations

import json
import sys
import uuid
from typing import Any

import orjson

from headwater.errors import BodyError, EventError
from headwater.events._canonical import dump
from headwater.events._event import (
    AliasEvent,
    Dataset,
    DatasetEvent,
    Event,
    EventType,
    Facets,
    JobEvent,
    JobRef,
    Json,
    Relation,
    RunEvent,
)
from headwater.events._explicit_lineage import with_lineage_datasets
from headwater.events._sql_datasets import with_sql_datasets
from headwater.events._times import parse_time, to_micros
from headwater.events.job_names import canonical_job, is_dbt_test
from headwater.table_formats import with_true_versions, without_logs


def load(raw: bytes | str) -> Any:
    """Decode JSON; accept the NaN and Infinity of Python's dialect."""
    return load_plain(raw.encode() if isinstance(raw, str) else raw)[1]


def load_plain(raw: bytes) -> tuple[bytes, Any]:
    """Return standard JSON and its decoded form; the JSON is unchanged if it was standard JSON.

    Python's decoder also reads what its encoder writes although JSON does not have it, such as NaN.
    Raises BodyError for a text that is not JSON, and EventError for a lone surrogate in it.
    """
    try:
        return raw, orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            raise BodyError("$", raw[:80].decode(errors="replace"), f"JSON ({error})") from None
    return dump(body), body


def parse_event(body: Any, digest: str) -> Event:
    """Parse a decoded body whose identity is `digest`. Raises EventError.

    Names of dbt jobs become equal for all commands, outputs of dbt tests and logs of tables are
    dropped, and the datasets that explicit lineage or the SQL text names are added or corrected.
    """
    event = _object(body, "$")
    time = _time(event.get("eventTime"))
    kind = kind_of(event)
    if kind == "dataset":
        return DatasetEvent(time, digest, _dataset(event.get("dataset"), "dataset", None))
    job = _object(event.get("job"), "job")
    namespace = sys.intern(_text(job.get("namespace"), "job.namespace"))  # repeated by many jobs
    ref = JobRef(namespace, _text(job.get("name"), "job.name"))
    facets = _facets(job.get("facets"))
    ref = canonical_job(ref, facets)
    inputs = _datasets(event.get("inputs"), "inputs", "inputFacets")
    outputs = _datasets(event.get("outputs"), "outputs", "outputFacets")
    inputs, outputs = without_logs(inputs), () if is_dbt_test(facets) else without_logs(outputs)
    if "lineage" in facets:
        inputs, outputs = with_lineage_datasets(facets["lineage"], ref, inputs, outputs)
    inputs, outputs = with_sql_datasets(facets, inputs, outputs)
    if kind == "job":
        return JobEvent(time, digest, ref, facets, inputs, outputs)
    run = _object(event.get("run"), "run")
    run_id = run_id_of(_text(run.get("runId"), "run.runId"))
    run_facets = with_parent(_facets(run.get("facets")))
    type_ = _type(event.get("eventType"))
    inputs, outputs = with_true_versions(facets, inputs, outputs, type_ is EventType.START)
    return RunEvent(time, digest, type_, run_id, run_facets, ref, facets, inputs, outputs)


_SAME: Relation = "same"
_FLAGS: dict[str, Relation]
_FLAGS = {"isRemoved": "reported", "isSeparate": "different", "isRule": "rule"}


def parse_alias(body: Any, digest: str) -> AliasEvent:
    """Parse the decoded body of an alias; without a true flag, its two names are one dataset."""
    first, second = _datasets(_object(body, "$").get("datasets"), "datasets", "")
    names = (first.namespace, first.name), (second.namespace, second.name)
    relation = next((found for flag, found in _FLAGS.items() if body.get(flag) is True), _SAME)
    return AliasEvent(_time(body.get("eventTime")), digest, names, relation)


def kind_of(event: Json) -> str:
    """Return run, job or dataset: run for an event with a run, else by schemaURL or other parts."""
    if event.get("run") is not None:
        return "run"
    schema = event.get("schemaURL")
    named = schema.rsplit("/", 1)[-1] if isinstance(schema, str) else ""
    if named == "DatasetEvent" or ("dataset" in event and "job" not in event):
        return "dataset"
    if named == "JobEvent" or ("eventType" not in event and named != "RunEvent"):
        return "job"
    return "run"


def with_parent(facets: Facets) -> Facets:
    """Return the facets of a run with `parentRun`, the parent facet's old name, as `parent`."""
    if "parentRun" not in facets:
        return facets
    others = {name: facet for name, facet in facets.items() if name != "parentRun"}
    return {"parent": facets["parentRun"], **others}


def _object(value: Any, path: str) -> Json:
    if isinstance(value, dict):
        return value
    raise EventError(path, value, "an object")


def _text(value: Any, path: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise EventError(path, value, "a non-empty string")


def _time(value: Any) -> int:
    try:
        return to_micros(parse_time(value))
    except (AttributeError, TypeError, ValueError, OverflowError):
        expected = "an ISO 8601 time such as 2026-11-21T08:30:00Z"
        raise EventError("eventTime", value, expected) from None


def _type(value: Any) -> EventType:
    name = value.strip().upper() if isinstance(value, str) else ""
    return EventType(name) if name in EventType.__members__ else EventType.OTHER


def run_id_of(text: str) -> str:
    """Return a run id in canonical spelling; one that is not a UUID stays unchanged."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return text


def _facets(value: Any) -> Facets:
    if not isinstance(value, dict):
        return {}
    return {name: facet for name, facet in value.items() if isinstance(facet, dict)}


def _datasets(value: Any, path: str, io_facets: str) -> tuple[Dataset, ...]:
    """Return the datasets of a list; empty for null. `io_facets` is the key of their own facets."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise EventError(path, value, "a list of datasets")
    return tuple(_dataset(item, f"{path}[{i}]", io_facets) for i, item in enumerate(value))


def _dataset(value: Any, path: str, io_facets: str | None) -> Dataset:
    """Return a dataset; `io_facets` is the key of its facets as an input or output, or None."""
    item = _object(value, path)
    return Dataset(
        _text(item.get("namespace"), f"{path}.namespace"),
        _text(item.get("name"), f"{path}.name"),
        _facets(item.get("facets")),
        _facets(item.get(io_facets)) if io_facets else {},
    )
