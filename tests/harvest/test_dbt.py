"""`headwater harvest dbt` after real runs of dbt, compared with the events of dbt-ol."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands.environment import script
from headwater.log import EventLog

pytestmark = pytest.mark.server

_FILES = {
    "models/trips.sql": "select 1 as id, 5.0 as fare",
    "models/fares.sql": """{{ config(materialized='table') }}
        select z.name, sum(t.fare) as fares from {{ ref('trips') }} t
        join {{ ref('zones') }} z on z.id = t.id group by 1""",
    "seeds/zones.csv": "id,name\n1,Newark\n",
    "tests/positive.sql": "select * from {{ ref('fares') }} where fares < 0",
}
_ABOUT = {
    "models": [
        {
            "name": "fares",
            "description": "Fares of zones",
            "config": {"tags": ["daily"], "meta": {"owner": "taxi"}},
            "columns": [
                {
                    "name": "name",
                    "data_tests": ["not_null", "unique"],
                    "config": {"tags": ["pii"]},
                }
            ],
        }
    ],
    "exposures": [
        {
            "name": "board",
            "type": "dashboard",
            "owner": {"name": "Taxi"},
            "depends_on": ["ref('fares')"],
        }
    ],
}

Dbt = Callable[..., int]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project with a seed, two models and three tests."""
    folder = tmp_path / "rides"
    profile = {"type": "duckdb", "path": str(folder / "lake.duckdb")}
    files = _FILES | {
        "dbt_project.yml": json.dumps({"name": "rides", "profile": "rides"}),
        "profiles.yml": json.dumps({"rides": {"target": "here", "outputs": {"here": profile}}}),
        "models/schema.yml": json.dumps(_ABOUT),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def run_dbt(dbt: Path, project: Path, tmp_path: Path) -> Dbt:
    """Return a function that runs dbt-ol, which writes events to a file; it returns exit codes."""
    transport = {"type": "file", "log_file_path": str(tmp_path / "sent.jsonl"), "append": True}
    environ = os.environ | {
        "PATH": f"{dbt}:{os.environ['PATH']}",
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "OPENLINEAGE__TRANSPORT": json.dumps(transport),
    }

    def run(*arguments: str) -> int:
        command = ["dbt-ol", *arguments, "--project-dir", str(project)]
        command += ["--profiles-dir", str(project)]
        done = subprocess.run(command, env=environ, cwd=project, capture_output=True, text=True)
        return done.returncode

    return run


def _harvest(project: Path, database: Path, code: int = 0) -> str:
    """Import into a log and return the output."""
    command = [script("headwater"), "harvest", "dbt", str(project), "--yes"]
    command += ["--database", str(database)]
    environ = os.environ | {"HEADWATER_HARVESTS": str(database.parent / "harvests")}
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def _events(database: Path) -> list[Any]:
    log = EventLog(str(database), must_exist=True)
    try:
        return [json.loads(body) for _, body in log.read()]
    finally:
        log.close()


def _edges(events: list[Any]) -> set[tuple[str, str, str, str]]:
    return {
        (
            event["job"]["namespace"],
            event["job"]["name"],
            side,
            f"{dataset['namespace']}|{dataset['name']}",
        )
        for event in events
        for side in ("inputs", "outputs")
        for dataset in event.get(side, [])
    }


def test_imported_dbt_names_match_dbt_ol(run_dbt: Dbt, project: Path, tmp_path: Path) -> None:
    assert run_dbt("build") == 0
    sent = [json.loads(line) for line in (tmp_path / "sent.jsonl").read_text().splitlines()]
    database = tmp_path / "log.db"
    assert "stored 13, duplicates 0" in _harvest(project, database)
    events = _events(database)
    assert _edges(sent) <= _edges(events)
    more = {(name, side, dataset.rpartition("/")[2]) for _, name, side, dataset in
            _edges(events) - _edges(sent)}  # fmt: skip
    assert more == {
        ("lake.main.rides.zones.build.seed", "inputs", "zones.csv"),
        ("lake.main.rides.zones.build.seed", "outputs", "lake.duckdb|lake.main.zones"),
        ("lake.main.rides.fares.build.run", "inputs", "lake.duckdb|lake.main.zones"),
        ("exposure.rides.board", "inputs", "lake.duckdb|lake.main.fares"),
    }
    assert {event["job"]["name"] for event in sent} <= {event["job"]["name"] for event in events}

    (fares,) = (event for event in events if event.get("eventType") == "COMPLETE"
                and event["job"]["name"] == "lake.main.rides.fares.build.run")  # fmt: skip
    facets = fares["outputs"][0]["facets"]
    assert facets["documentation"]["description"] == "Fares of zones"
    assert facets["ownership"]["owners"][0]["name"] == "taxi"
    (tag,) = (tag for tag in facets["tags"]["tags"] if tag.get("field"))
    assert (tag["field"], tag["key"]) == ("name", "pii")
    (origin,) = facets["columnLineage"]["fields"]["fares"]["inputFields"]
    assert (origin["name"], origin["field"]) == ("lake.main.trips", "fare")
    assert fares["run"]["facets"]["tags"]["tags"][0]["key"] == "daily"
    runs = [event for event in events if "run" in event]
    (top,) = {event["run"]["runId"] for event in runs if event["job"]["name"] == "dbt-run-rides"}
    below = [event for event in runs if event["job"]["name"] != "dbt-run-rides"]
    assert {run["run"]["facets"]["parent"]["run"]["runId"] for run in below} == {top}
    tested = next(event for event in events if event["job"]["name"].endswith("fares.build.test"))
    assertions = tested["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert {check["assertion"] for check in assertions if check["success"]} == {
        "not_null", "unique", "positive",
    }  # fmt: skip


def test_each_dbt_invocation_is_imported_once(run_dbt: Dbt, project: Path, tmp_path: Path) -> None:
    database = tmp_path / "log.db"
    run_dbt("build")
    assert "new 13," in _harvest(project, database)
    assert "events 0," in _harvest(project, database)
    for state in (tmp_path / "harvests").iterdir():
        state.unlink()
    assert "stored 0, duplicates 13" in _harvest(project, database)
    (project / "models" / "trips.sql").write_text("select 1 as id, -5.0 as fare")
    assert run_dbt("build") == 1
    assert "stored 13, duplicates 0" in _harvest(project, database)
    failed = {
        event["job"]["name"]: event["run"]["facets"]["errorMessage"]["message"]
        for event in _events(database)
        if event.get("eventType") == "FAIL"
    }
    test = "lake.main.rides.fares.build.test"
    assert set(failed) == {"dbt-run-rides", "test.rides.positive", test}
    assert failed[test] == "positive: Got 1 result, configured to fail if != 0"


def test_invalid_dbt_project_is_reported(
    dbt: Path, project: Path, run_dbt: Dbt, tmp_path: Path
) -> None:
    database = tmp_path / "log.db"
    assert "not a dbt project" in _harvest(tmp_path, database, code=2)
    assert "dbt writes this file when it runs" in _harvest(project, database, code=2)
    run_dbt("docs", "generate")
    assert "received the results of `dbt docs generate`" in _harvest(project, database, code=1)
