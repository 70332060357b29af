"""Tables, tags and exposures in the manifest of a dbt project.

A node is a model, seed, snapshot or test by its unique id, such as `model.shop.orders`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
from openlineage.client.event_v2 import Dataset, InputDataset, Job, JobEvent, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    RunFacet,
    documentation_job,
    job_type_job,
    ownership_job,
    tags_dataset,
    tags_job,
)
from openlineage.client.facet_v2 import column_lineage_dataset as lineage
from openlineage.client.facet_v2 import data_quality_assertions_dataset as dq
from openlineage.common.provider.dbt.facets import DbtNodeJobFacet

from headwater.datasets.project import CONFIG
from headwater.errors import ConfigError, shown
from headwater.events.facets import EXPOSURE
from headwater.plugins.harvest._references import Options
from headwater.runs.completion import EMPTY
from headwater.text import strings_in
from headwater_client.events import PRODUCER

Artifact = Mapping[str, Any]
"""JSON of a file that dbt writes."""

_MAPPINGS = ("nodes", "sources", "exposures", "semantic_models", "unit_tests")
_NOUNS = {"dict": "an object", "list": "a list", "str": "a string"}
_TABLES = {"model", "seed", "snapshot", "source"}

_OTHER_OPTIONS = {
    "access", "alias", "batch_size", "begin", "column_types", "concurrent_batches", "contract",
    "database", "docs", "enabled", "file_format", "freshness", "full_refresh", "grants", "group",
    "hard_deletes", "incremental_strategy", "invalidate_hard_deletes", "location_root", "lookback",
    "materialized", "meta", "on_configuration_change", "on_schema_change", "owner", "packages",
    "persist_docs", "quoting", "schema", "snapshot_meta_column_names", "static_analysis",
    "strategy", "tags", "target_database", "target_schema",
}  # fmt: skip
"""dbt's options whose values do not name columns. Options of adapters may name columns."""
_SOURCE_OPTIONS = ("event_time", "loaded_at_field", "loaded_at_query")
"""The options of a source, besides the filter of `freshness`, whose values name columns."""
_SNAPSHOT_COLUMNS = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to")
"""The columns that dbt adds to snapshots and reads in the next run."""


def check_manifest(manifest: Artifact, path: str) -> None:
    """Raise ConfigError if the parts of a manifest that are read have the wrong types.

    `path` names the file in errors. Parts that are not read may have any type.
    """
    for name in _MAPPINGS:
        _expect(manifest.get(name, {}), dict, f"{path}: {name}")
        for node, definition in manifest.get(name, {}).items():
            _expect(definition, dict, f"{path}: {name}.{node}")
            if name != "exposures":
                _expect(definition.get("resource_type"), str, f"{path}: {node}.resource_type")
    _expect(manifest.get("parent_map"), dict, f"{path}: parent_map")
    for node, parents in manifest["parent_map"].items():
        _expect(parents, list, f"{path}: parent_map.{node}")


def check_results(results: Artifact, path: str) -> None:
    """Raise ConfigError if the parts of run_results.json that are read have the wrong types."""
    _expect(results.get("results"), list, f"{path}: results")
    for number, result in enumerate(results["results"]):
        _expect(result, dict, f"{path}: results[{number}]")
        for name, type_ in (("unique_id", str), ("status", str), ("timing", list)):
            _expect(result.get(name), type_, f"{path}: results[{number}].{name}")


def _expect(value: object, type_: type, place: str) -> None:
    """Raise ConfigError if a value at a place of a file does not have a type of `_NOUNS`."""
    if not isinstance(value, type_):
        noun = _NOUNS[type_.__name__]
        raise ConfigError(f"{place}: received {shown(value)}, expected {noun}; run dbt again")


def missing_profile(error: FileNotFoundError | KeyError, folder: str, profile: str) -> Exception:
    """Return the error about a profile, its target or their file; other errors as they are.

    The library raises them without the name of the file. `folder` is that of profiles.yml.
    """
    path = Path(folder, "profiles.yml")
    if isinstance(error, KeyError):
        missing = f"{error.args[0]!r} is missing"
    elif Path(error.filename or "").name == path.name:
        missing = "no such file"
    else:
        return error
    return ConfigError(
        f"{path}: {missing}: the names of the tables depend on the profile {profile!r}. Pass the"
        " folder of profiles.yml as --profiles-dir, or choose with --profile and --target"
    )


def definitions(manifest: Artifact) -> dict[str, Artifact]:
    """Return the definitions of the tables by their unique id; ephemeral models are no tables.

    The keys are unique ids, and the values their entries in the manifest.
    """
    return {
        node: definition
        for kind in ("nodes", "sources")
        for node, definition in manifest.get(kind, {}).items()
        if definition["resource_type"] in _TABLES
        and definition.get("config", {}).get("materialized") != "ephemeral"
    }


def tables_above(manifest: Artifact, tables: Mapping[str, Artifact], node: str) -> list[str]:
    """Return the nearest tables upstream, through ephemeral models, metrics and the like.

    `tables` are those of `definitions`.
    """
    parents = manifest["parent_map"]
    found: set[str] = set()
    open_ = list(parents.get(node, ()))
    while open_:
        parent = open_.pop()
        if parent not in found:
            found.add(parent)
            open_ += () if parent in tables else parents.get(parent, ())
    return sorted(found & tables.keys())


def tags_of(definition: Artifact, columns: Iterable[str]) -> tags_dataset.TagsDatasetFacet:
    """Return the tags of a table and its columns: dbt's tags, and plain values of `meta`.

    Columns are spelled as in `columns` (from the catalog), otherwise as in the project.
    """
    spelled = {column.lower(): column for column in columns}
    fields = [
        tags_dataset.TagsDatasetFacetFields(key, value, source, field=field)
        for key, value, source, field in (
            *((*tag, None) for tag in _tags(definition)),
            *(
                (*tag, spelled.get(name.lower(), name))
                for name, column in definition.get("columns", {}).items()
                for tag in _tags(column)
            ),
        )
    ]
    return tags_dataset.TagsDatasetFacet(fields, producer=PRODUCER)


def assertions_of(
    tests: Iterable[tuple[Artifact, Artifact]],
) -> dq.DataQualityAssertionsDatasetFacet:
    """Return the results of tests as assertions, like OpenLineage's library.

    Each item is the entry of a test in the manifest, and its result.
    """
    found = [
        dq.Assertion(
            assertion=(test.get("test_metadata") or test)["name"],
            name=test["name"],
            success=result["status"] == "pass",
            column=test.get("column_name"),
            severity=str((test.get("config") or {}).get("severity") or "error").lower(),
        )
        for test, result in tests
    ]
    return dq.DataQualityAssertionsDatasetFacet(found, producer=PRODUCER)


def same_columns(
    namespace: str, name: str, columns: Iterable[str]
) -> lineage.ColumnLineageDatasetFacet:
    """Return the column lineage of a copy: each column comes from the one of the same name.

    `namespace` and `name` are those of the source.
    """
    kinds = [lineage.Transformation("DIRECT", "IDENTITY")]
    fields = {
        column: lineage.Fields([lineage.InputField(namespace, name, column, kinds)])
        for column in columns
    }
    return lineage.ColumnLineageDatasetFacet(fields, producer=PRODUCER)


def _tags(definition: Artifact) -> Iterator[tuple[str, str, str]]:
    """Yield key, value and source of each tag; dbt 1.10 moved tags and meta into `config`.

    Of `meta`, only texts, numbers and switches are tags.
    """
    config = definition.get("config") or {}
    tags = dict.fromkeys([*(definition.get("tags") or ()), *(config.get("tags") or ())])
    yield from ((tag, "true", "DBT") for tag in tags)
    meta = {**(definition.get("meta") or {}), **(config.get("meta") or {})}
    for key, value in meta.items():
        is_repeated = key in tags and value is True
        is_plain = isinstance(value, str | int | float)
        if is_plain and not is_repeated and key != "owner":  # the owner has its own facet
            yield key, str(value).lower() if isinstance(value, bool) else str(value), "DBT_META"


def omitted_table(manifest: Artifact, test: Artifact) -> str | None:
    """Return the seed or snapshot under test; the library omits their tests."""
    table: str = manifest["nodes"].get(test["unique_id"], {}).get("attached_node") or ""
    return table if table.startswith(("seed.", "snapshot.")) else None


def correct_test(manifest: Any, result: Artifact) -> None:
    """Set the severity of a result, by warn_if and error_if, and the table under test.

    The manifest is changed. OpenLineage's library reads the severity from it.
    """
    test = manifest["nodes"].get(result["unique_id"], {})
    severity = {"warn": "warn", "fail": "error", "error": "error"}.get(result["status"])
    if severity and test:
        test["config"] = {**(test.get("config") or {}), "severity": severity}
    if table := test.get("attached_node"):  # a relationship test has two parents
        manifest["parent_map"][result["unique_id"]] = [table]


@attrs.define
class ProjectFacet(RunFacet):
    """The nodes of a project, except tests, the names of its tests, and the schemas of its tables.

    A schema is `database.schema`.
    """

    name: str
    nodes: list[str]
    tests: list[str]
    schemas: list[str]


@attrs.define
class _ConfigFacet(JobFacet):
    """The texts in the configuration of a model or snapshot that may name columns, by option."""

    options: dict[str, list[str]]


def with_config(job: Job, manifest: Artifact) -> Job:
    """Return a job with the texts in its model's configuration that may name columns.

    The check of a dropped column searches these texts for the name of the column.
    """
    facets: Any = job.facets
    node = manifest["nodes"].get(facets["dbt_node"].unique_id)
    if node is None or facets["jobType"].jobType not in ("MODEL", "SNAPSHOT"):
        return job
    config = node.get("config") or {}
    # An unknown option may be one of an adapter, such as `partition_by` or `unique_key`.
    every = {key: list(strings_in(config[key])) for key in config.keys() - _OTHER_OPTIONS}
    options = {key: texts for key, texts in sorted(every.items()) if texts}
    if (config.get("contract") or {}).get("enforced"):
        options["contract"] = list(node.get("columns") or ())
    if facets["jobType"].jobType == "SNAPSHOT":
        named = config.get("snapshot_meta_column_names") or {}
        options["snapshot_meta_column_names"] = [named.get(key) or key for key in _SNAPSHOT_COLUMNS]
    return attrs.evolve(job, facets={**facets, CONFIG: _ConfigFacet(options, producer=PRODUCER)})


@attrs.define
class _TableConfigFacet(DatasetFacet):
    """The texts outside of SQL that may name columns of a table, by what contains them."""

    options: dict[str, list[str]]


def table_config(definition: Artifact, options: Options) -> dict[str, DatasetFacet]:
    """Return the facet with the texts of a project that may name columns of a table.

    `options` has them; for a source, those that `dbt source freshness` reads are added. dbt 1.10
    moved the options of sources into `config`. Without texts, the facet replaces an earlier one.

    `definition` is the entry of the table in the manifest.
    """
    found = dict(options)
    is_source = definition["resource_type"] == "source"
    for place in (definition, definition.get("config") or {}) if is_source else ():
        given = {key: place.get(key) for key in _SOURCE_OPTIONS}
        given["freshness"] = (place.get("freshness") or {}).get("filter")
        found |= {key: list(strings_in(value)) for key, value in given.items() if value}
    return {CONFIG: _TableConfigFacet(found, producer=PRODUCER)}


@attrs.define
class _EmptyFacet(RunFacet):
    """The facet of a run of dbt with `--empty`, which loads no rows."""

    isEmpty: bool = True


def empty_facet(results: Artifact) -> dict[str, RunFacet]:
    """Return the run facet of an invocation with `--empty`; nothing for another one."""
    is_empty = (results.get("args") or {}).get("empty") is True
    return {EMPTY: _EmptyFacet(producer=PRODUCER)} if is_empty else {}


def project_facet(name: str, manifest: Artifact) -> ProjectFacet:
    """Return the facet by which removed models and tests are recognized."""
    every = manifest.get("nodes", {})
    nodes = sorted(node for node in every if not node.startswith("test."))
    tests = {str(every[node].get("name")) for node in every.keys() - set(nodes)}
    tables = definitions(manifest).values()
    own = (table for table in tables if not table.get("is_deferred"))
    schemas = {f"{table.get('database')}.{table.get('schema')}" for table in own}
    return ProjectFacet(name, nodes, sorted(tests), sorted(schemas), producer=PRODUCER)


@attrs.define
class _ExposureFacet(JobFacet):
    """The exposure that a job stands for."""

    type: str | None = None
    url: str | None = None


def skipped_event(
    namespace: str,
    manifest: Artifact,
    node: str,
    inputs: Iterable[Dataset],
    output: Dataset,
    at: datetime,
) -> JobEvent:
    """Return the event that declares the job of a model or snapshot that dbt skipped.

    `namespace` is that of the jobs, `node` the unique id, and `at` the time of the results.
    """
    kind, _, name = node.partition(".")
    definition = manifest["nodes"][node]
    suffix = ".snapshot" if kind == "snapshot" else ""
    keys = ("original_file_path", "database", "schema", "alias", "unique_id")
    facets: dict[str, JobFacet] = {
        "jobType": job_type_job.JobTypeJobFacet("BATCH", "DBT", kind.upper(), producer=PRODUCER),
        "dbt_node": DbtNodeJobFacet(**{key: definition.get(key) for key in keys}),
    }
    job = Job(namespace, f"{output.name.rpartition('.')[0]}.{name}{suffix}", facets)
    return JobEvent(
        eventTime=at.astimezone(UTC).isoformat(),
        producer=PRODUCER,
        job=with_config(job, manifest),
        inputs=[InputDataset(item.namespace, item.name, facets=item.facets) for item in inputs],
        outputs=[OutputDataset(output.namespace, output.name, facets=output.facets)],
    )


def exposure_event(
    namespace: str, exposure: Artifact, inputs: Iterable[Dataset], at: datetime
) -> JobEvent:
    """Return the event that declares an exposure as a job that reads tables.

    `exposure` is its entry in the manifest, and `inputs` are the tables that it shows.
    """
    owner = exposure.get("owner") or {}
    name = owner.get("name") or owner.get("email")
    text = exposure.get("description") or exposure.get("label")
    tags = [tags_job.TagsJobFacetFields(*tag) for tag in _tags(exposure)]
    own = _ExposureFacet(exposure.get("type"), exposure.get("url"), producer=PRODUCER)
    facets: dict[str, JobFacet] = {
        "jobType": job_type_job.JobTypeJobFacet("NONE", "DBT", EXPOSURE, producer=PRODUCER),
        "dbt_exposure": own,
        "tags": tags_job.TagsJobFacet(tags, producer=PRODUCER),
    }
    if text:
        facets["documentation"] = documentation_job.DocumentationJobFacet(text, producer=PRODUCER)
    if name:
        owners = [ownership_job.Owner(name, "MAINTAINER")]
        facets["ownership"] = ownership_job.OwnershipJobFacet(owners, producer=PRODUCER)
    return JobEvent(
        eventTime=at.astimezone(UTC).isoformat(),
        producer=PRODUCER,
        job=Job(namespace, exposure["unique_id"], facets),
        inputs=[InputDataset(item.namespace, item.name, facets=item.facets) for item in inputs],
    )
