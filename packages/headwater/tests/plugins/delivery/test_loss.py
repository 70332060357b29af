"""`headwater backends loss`: facts that arrive at each backend, and reports/loss.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from headwater.plugins.delivery._loss import losses
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.generated_docs import check_written
from packages.headwater.tests.support.recording_backend import pipeline

_PAGE = """# Facts that arrive at each backend

This page lists the facts that arrive at each backend when headwater delivers the events of this
repository's pipeline (`./run demo` of two months): *all*, their number, or none (–). Each
fact is counted once: a run, an edge, a facet of one run, job or dataset.
`./run lineage backends loss .state/spool` prints the table of your own events. A test keeps this
page up to date.

"""
_NOTES = """
- *data edges* connect a job with an input or output, *column edges* a column with a source column,
  *hierarchy* a run with its parent, *control edges* a job with a job that it waits for. *models*
  are datasets that the backend stores as models.
- A fact arrives if it is sent and the backend is not known to drop it. For `datahub` this is based
  on recorded responses of its converter and on the metadata change proposals that it is sent
  (*hierarchy*, *control edges*, *models*, ownership, tags, versions). For `marquez` it is based on
  responses of a real server, for `datazone` and `openmetadata` on their documentation and source.
  Neither DataHub, DataZone nor OpenMetadata was run.
- `datahub` receives the upstream jobs of *jobDependencies*. Downstream jobs, as of a flow's first
  step, are lost.
- `openmetadata` creates edges only between existing tables, for runs that read one and write one,
  and accepts source columns only from tables that the run reads. The table assumes that it has all
  tables and nothing else: no file, URL or artifact.
- Explicit lineage separates the outputs of a job only at `openmetadata`. At the other backends,
  every input of a job leads to every output. Edges between two jobs or two datasets do not arrive
  at any of the four.
- `marquez` shows facets unchanged, but ignores `root`, `jobDependencies` and versions.
- `datazone` stores every event as posted in its history. The table counts what its graph and its
  forms show.
"""


@pytest.mark.replay
def test_page_has_the_table_of_this_pipeline(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in pipeline()))
    answer = call("backends", "loss", str(file))
    assert answer.returncode == 0, answer.stderr
    check_written("packages/headwater/tests/reports/loss.md", _PAGE + answer.stdout + _NOTES)
    head, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in answer.stdout.splitlines()
    )
    results = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert int(results["column edges"]["reported"]) > 300
    for kind in ("data edges", "column edges", "runs"):
        for backend in ("datahub", "datazone", "marquez"):
            assert results[kind][backend] == "all", (kind, backend)
    assert {row["marquez"] for row in results.values()} == {"all", "–"}


def test_emitted_facts_are_counted(
    build: Any, call: Call, tmp_path: Path, monkeypatch: Any
) -> None:
    reported = {
        "ownership": {"owners": [{"name": "team:data"}]},
        "tags": {"tags": [{"key": "tier", "value": "gold", "source": "x", "field": "a"}]},
        "version": {"datasetVersion": "7"},
    }
    before = build.run("COMPLETE", "a", "f.a", "08:00:00", writes=("s3://lake|in",))
    before["outputs"][0]["facets"] = {"ownership": {"owners": []}}
    after = build.run("COMPLETE", "b", "f.b", "09:00:00", parent=("top", "f"))
    after["run"]["facets"]["jobDependencies"] = {
        "upstream": [{"job": before["job"], "run": before["run"]}]
    }
    after["outputs"] = [
        build.dataset("s3://lake|out", datasetType={"datasetType": "MODEL"}, **reported)
    ]
    kinds = {
        "hierarchy": (1, 1),
        "control edges": (1, 1),
        "models": (1, 1),
        "dataset ownership": (2, 1),
        "dataset tags": (1, 1),
        "dataset version": (1, 1),
        "run jobDependencies": (1, 1),
        "run parent": (1, 1),
    }

    def counted(event: Any) -> Any:
        return {
            loss.kind: (loss.reported, loss.arrived["datahub"])
            for loss in losses(map(build.entry, [before, event]))
            if loss.kind in kinds
        }

    assert counted(after) == kinds
    monkeypatch.setitem(sys.modules, "datahub", None)
    assert counted(after) == {kind: (n, 0) for kind, (n, _) in kinds.items()}
    (tmp_path / "e.json").write_text(json.dumps(after))
    assert "acryl-datahub is not installed" in call("backends", "loss", str(tmp_path)).stderr


def test_trimmed_facts_are_lost(build: Any) -> None:
    wide = build.run(
        "COMPLETE", "w", "wide", "08:00:00", reads=tuple(f"x|{'y' * 99}{n}" for n in range(3_000))
    )
    odd = build.run(
        "COMPLETE", "o", "a job, odd.b", "08:00:00", reads=("arn|a b",), writes=("x|o",)
    )
    (runs, edges, *_) = losses(map(build.entry, [wide, odd]))
    assert (runs.kind, runs.reported, edges.kind, edges.reported) == (
        "runs",
        2,
        "data edges",
        3_002,
    )
    assert edges.arrived == {"datahub": 3_002, "datazone": 2, "marquez": 3_002, "openmetadata": 0}
    assert runs.arrived == {"datahub": 2, "datazone": 1, "marquez": 2, "openmetadata": 0}


def test_openmetadata_has_only_edges_between_tables(build: Any) -> None:
    def source(name: str) -> Any:
        return {"namespace": "hive://h", "name": name, "field": "a"}

    tables = "hive://h|shop.a", "hive://h|shop.b"
    files = "file|/in.csv", "metaflow://m|F/model", "s3://lake|in.csv"
    mixed = build.run(
        "COMPLETE", "m", "f.mixed", "08:00:00", reads=(tables[0], *files), writes=(tables[1],)
    )
    sources = [source("shop.a"), source("shop.elsewhere"), source("/in.csv")]
    lineage = {"fields": {"b": {"inputFields": sources}}}
    mixed["outputs"][0]["facets"] = {"columnLineage": lineage}
    mixed["job"]["facets"] = {"sql": {"query": "SELECT 1"}}
    loaded = build.run("COMPLETE", "l", "f.loaded", "08:00:00", reads=files, writes=tables)
    file_column = {"namespace": "file", "name": "/in.csv", "field": "a"}
    of_file = {"fields": {"b": {"inputFields": [file_column]}}}
    loaded["outputs"][0]["facets"] = {"columnLineage": of_file}
    loaded["job"]["facets"] = {"sql": {"query": "SELECT 1"}}
    results = {
        loss.kind: (loss.reported, loss.arrived["openmetadata"])
        for loss in losses(map(build.entry, [mixed, loaded]))
    }
    assert results["data edges"] == (12, 3)
    assert results["column edges"] == (4, 2)
    assert results["job sql"] == (2, 1)


def test_job_and_dataset_events_are_counted(build: Any) -> None:
    schema = {"fields": [{"name": "a"}]}
    dataset = {
        "eventTime": "2025-11-21T08:00:00Z",
        "dataset": build.dataset("x|y", schema=schema),
    }
    job = {
        "eventTime": "2025-11-21T08:00:00Z",
        "job": {"namespace": "d", "name": "j"},
        "outputs": [build.dataset("x|y")],
    }
    results = {loss.kind: loss for loss in losses(map(build.entry, [dataset, job]))}
    assert results["data edges"].arrived["marquez"] == results["data edges"].reported == 1
    assert results["data edges"].arrived["datahub"] == 1
    assert results["data edges"].arrived["datazone"] == 0
    assert results["dataset schema"].arrived["marquez"] == 1


def test_masking_rules_apply_to_the_counted_events(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_REDACT", str(tmp_path / "missing.yaml"))
    answer = call("backends", "loss", str(tmp_path))
    assert (answer.returncode, "missing.yaml" in answer.stderr) == (2, True)


def test_missing_events_are_reported(call: Call, tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    answer = call("backends", "loss", str(tmp_path), "--json")
    assert (answer.returncode, answer.stdout.strip()) == (1, "[]")
    assert "no events found" in answer.stderr
