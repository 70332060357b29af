"""Import lineage that OpenMetadata exported as CSV, by its page or its API (`lineage/exportAsync`).

Each row is an edge between two entities or two columns (`LineageRepository.exportCsvAsync`). A row
with columns has no pipeline, also if OpenMetadata knows it, so these edges have no job.

An FQN is a fully qualified name: the service, database, schema and table, joined by dots.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from openlineage.client.event_v2 import DatasetEvent, JobEvent
from openlineage.client.facet_v2 import job_type_job

from headwater.errors import ConfigError
from headwater.events import JobRef
from headwater.identity import DatasetName
from headwater.plugins.harvest._catalog_names import Namespaces
from headwater.plugins.harvest._declared import Declared, dataset_event, job_event, portions_of
from headwater.plugins.harvest.harvester import Cursor, Portion
from headwater.redaction import Redactor
from headwater.unzip import open_unzipped

_PRODUCER = "https://github.com/open-metadata/OpenMetadata"
_REQUIRED = ("fromEntityFQN", "fromServiceName", "toEntityFQN", "toServiceName")
_NO_DATABASE = "default."
"""OpenMetadata's database of platforms that only have schemas, such as MySQL."""
_PART = re.compile(r'"((?:[^"]|"")*)"|([^.]+)')
_Row = dict[str, str]
_Pairs = dict[DatasetName, set[tuple[str, str]]]
"""By source dataset: pairs of a column and the source column that it takes its value from."""


@dataclass(slots=True)
class _Pipeline:
    """A pipeline of the export; `kind` is its service, such as AIRFLOW, the job's integration."""

    declared: Declared
    kind: str
    inputs: set[DatasetName] = field(default_factory=set)
    outputs: dict[DatasetName, _Pairs] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OpenMetadata:
    """CSV files of exported lineage."""

    paths: list[Path]
    namespaces: Namespaces

    @property
    def source(self) -> str:
        """The files."""
        return f"openmetadata:{'|'.join(sorted(map(str, self.paths)))}"

    def harvest(
        self, cursor: Cursor, since: datetime | None, redactor: Redactor
    ) -> Iterator[Portion]:
        """Yield the events of all files; equal edges of several files are one. Raises ConfigError.

        The caller drops known events, so that `cursor` and `since` are not used.
        """
        rows = [row for path in self.paths for row in _rows(path)]
        at = datetime.fromtimestamp(max(path.stat().st_mtime for path in self.paths), UTC)
        export = _Export(rows, self.namespaces, at)
        yield from portions_of(export.events(), self.source, redactor)
        self.namespaces.warn()


class _Export:
    """The edges of an export; `at` is the time of its newest file."""

    def __init__(self, rows: list[_Row], namespaces: Namespaces, at: datetime) -> None:
        """Read all rows; `at` is the time of the export."""
        self._namespaces = namespaces
        self._at = at
        self._declared: dict[DatasetName, Declared] = {}
        self._sources: dict[DatasetName, _Pairs] = defaultdict(dict)
        self._pipelines: dict[JobRef, _Pipeline] = {}
        for row in rows:
            self._add(row)

    def events(self) -> Iterator[DatasetEvent | JobEvent]:
        """Yield the events of all datasets and pipelines."""
        for name, declared in self._declared.items():
            sources = self._sources.get(name, {})
            yield dataset_event(name, declared, sources, self._at, _PRODUCER)
        for ref, pipeline in self._pipelines.items():
            kind = job_type_job.JobTypeJobFacet("BATCH", pipeline.kind, "JOB", producer=_PRODUCER)
            inputs, outputs = pipeline.inputs, pipeline.outputs
            about = (self._at, _PRODUCER, kind)
            yield job_event(ref, pipeline.declared, inputs, outputs, *about)

    def _add(self, row: _Row) -> None:
        """Add the edge of a row to its pipeline, or to the downstream dataset if it has none.

        Only rows without a pipeline have columns. A column name is the part after the name of its
        entity.
        """
        upstream, downstream = self._entity(row, "from"), self._entity(row, "to")
        if pipeline := row.get("pipelineName"):
            service = row.get("pipelineServiceName") or "openmetadata"
            ref = JobRef(self._namespaces.of_jobs(service), pipeline)
            owners = _owners(row.get("pipelineOwners"))
            about = Declared(row.get("pipelineDescription") or "", owners)
            kind = (row.get("pipelineServiceType") or "openmetadata").upper()
            job = self._pipelines.setdefault(ref, _Pipeline(about, kind))
            job.inputs.add(upstream)
            job.outputs.setdefault(downstream, {})  # without column lineage
            return
        pairs = self._sources[downstream].setdefault(upstream, set())
        source, target = row.get("fromChildEntityFQN"), row.get("toChildEntityFQN")
        if source and target:
            pairs.add((_column(target, row["toEntityFQN"]), _column(source, row["fromEntityFQN"])))

    def _entity(self, row: _Row, side: str) -> DatasetName:
        """Return the name of an entity; keep its owners.

        `side` is `from` or `to`, the beginning of the column names. BigQuery needs no host, so its
        platform determines the namespace unless the user passed one for the service.
        """
        service = row[f"{side}ServiceName"]
        platform = (row.get(f"{side}ServiceType") or service).lower()
        parts = _parts(row[f"{side}EntityFQN"])
        own = ".".join(parts[1:] if parts[:1] == [service] and parts[1:] else parts)
        place = service
        if service not in self._namespaces.given and platform == "bigquery":
            place = platform
        name = self._namespaces.of(place, platform, own.removeprefix(_NO_DATABASE))
        declared = self._declared.setdefault(name, Declared())
        owners = _owners(row.get(f"{side}Owners"))
        declared.owners = list(dict.fromkeys([*declared.owners, *owners]))
        return name


def _rows(path: Path) -> list[_Row]:
    """Read the rows of a CSV file, which may be compressed.

    Raises ConfigError for a file without the required columns, or a row without their values.
    """
    try:
        with open_unzipped(path) as file:
            text = file.read().decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"{path}: cannot be read as CSV: {error}") from None
    header = reader.fieldnames or ()
    if missing := [name for name in _REQUIRED if name not in header]:
        raise ConfigError(
            f"{path}: received the columns {', '.join(header) or 'none'}, but {', '.join(missing)}"
            " are missing: expected a CSV file of OpenMetadata's page Lineage, Export"
        )
    for number, row in enumerate(rows, 2):
        if None in row or not all(row.get(name) for name in _REQUIRED):
            raise ConfigError(f"{path}:{number}: expected values of {', '.join(_REQUIRED)}")
    return rows


def _parts(name: str) -> list[str]:
    """Split a fully qualified name at dots outside of quotes."""
    return [(match[1] or "").replace('""', '"') or match[2] for match in _PART.finditer(name)]


def _column(name: str, entity: str) -> str:
    """Return the name of a column within its entity, from both fully qualified names."""
    return ".".join(_parts(name)[len(_parts(entity)) :])


def _owners(text: str | None) -> list[str]:
    return [owner for owner in (text or "").split(";") if owner]
