"""Events of real flows."""

from __future__ import annotations

import ast
import json
import re
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytestmark = pytest.mark.metaflow

Event = dict[str, Any]


def names(datasets: list[Event]) -> set[str]:
    return {dataset["name"] for dataset in datasets}


def edges(launch: Any) -> dict[str, tuple[set[str], set[str]]]:
    return {
        event["job"]["name"].partition(".")[2]: (names(event["inputs"]), names(event["outputs"]))
        for event in launch.events
        if event["eventType"] == "COMPLETE" and "." in event["job"]["name"]
    }


def facet(event: Event, name: str) -> Any:
    return event["run"]["facets"][name]


def upstream(event: Event) -> set[tuple[str, str]]:
    found = facet(event, "jobDependencies")["upstream"]
    return {(event["job"]["name"], event["run"]["runId"]) for event in found}


def run_id(event: Event) -> str:
    return str(event["run"]["runId"])


def test_flow_with_every_shape_succeeds_without_warning(shapes):
    assert shapes.process.returncode == 0, shapes.process.stderr
    assert "metaflow-openlineage:" not in shapes.process.stdout + shapes.process.stderr


def test_flow_run_is_a_child_of_its_launcher(shapes):
    for event in (shapes.one("ShapesFlow", "START"), shapes.one("ShapesFlow", "COMPLETE")):
        parent = facet(event, "parent")
        assert parent["job"]["namespace"] == "https://airflow.example/a"
        assert parent["job"]["name"] == "dag.launch"
        assert parent["root"]["job"]["name"] == "dag"
        assert facet(event, "nominalTime")["nominalStartTime"] == "2026-11-01T00:00:00+00:00"
        assert event["job"]["facets"]["jobType"]["jobType"] == "FLOW"


def test_tasks_and_queries_have_parent_and_root(shapes):
    flow_run = run_id(shapes.one("ShapesFlow", "START"))
    steps = {run_id(event) for event in shapes.events if event["job"]["name"].count(".") == 1}
    for event in shapes.events:
        parent, depth = facet(event, "parent"), event["job"]["name"].count(".")
        assert parent["root"]["run"]["runId"] == "01a0fd4a-49ef-7259-9396-ffb99203fb3f"
        if depth == 1:
            assert parent["run"]["runId"] == flow_run
        if depth == 2:
            assert parent["run"]["runId"] in steps


def test_every_run_that_starts_ends_exactly_once(shapes):
    started = [run_id(event) for event in shapes.events if event["eventType"] == "START"]
    ended = [run_id(event) for event in shapes.events if event["eventType"] != "START"]
    assert sorted(started) == sorted(ended)
    assert len(set(started)) == len(started)


def test_data_edges_match_the_code_exactly(shapes):
    assert edges(shapes) == {
        "start": (set(), {f"ShapesFlow/{n}" for n in ("training_data", "settings", "parts")}),
        "train": ({"ShapesFlow/training_data"}, {"ShapesFlow/model", "ShapesFlow/metrics"}),
        "ignore": ({"ShapesFlow/settings"}, {"ShapesFlow/settings"}),
        "compare": ({"ShapesFlow/settings"}, set()),
        "spread": ({"ShapesFlow/parts"}, set()),
        "score": ({"ShapesFlow/model", "ShapesFlow/parts"}, {"ShapesFlow/scored"}),
        "gather": ({"ShapesFlow/scored"}, {"ShapesFlow/scores"}),
        "risky": (set(), {"ShapesFlow/half_done"}),
        "end": (
            {"/in.csv", "/warehouse/t", "/q.csv"},
            {"/warehouse/forecast", "ShapesFlow/report", "/q.out"},
        ),
        "end.query_e004ebd5": ({"/q.csv"}, {"/q.out"}),
    }


def test_step_reads_the_version_that_another_wrote(shapes):
    written = shapes.one("ShapesFlow.start", "COMPLETE")["outputs"]
    (read,) = shapes.one("ShapesFlow.train", "COMPLETE")["inputs"]
    (written_version,) = [dataset for dataset in written if dataset["name"] == read["name"]]
    assert read["facets"]["version"] == written_version["facets"]["version"]
    fields = [(field["name"], field["type"]) for field in read["facets"]["schema"]["fields"]]
    assert fields[0] == ("hour", "int64")
    assert fields[1] in (("zone", "object"), ("zone", "str"))  # pandas 2, pandas 3
    assert read["inputFacets"]["inputStatistics"]["rowCount"] == 3
    assert written_version["facets"]["schema"] == read["facets"]["schema"]


def test_artifact_changed_in_place_has_two_versions(shapes):
    event = shapes.one("ShapesFlow.ignore", "COMPLETE")
    (before,), (after,) = event["inputs"], event["outputs"]
    assert before["facets"]["version"] != after["facets"]["version"]


def test_models_have_their_own_dataset_type(shapes):
    outputs = shapes.one("ShapesFlow.train", "COMPLETE")["outputs"]
    kinds = {item["name"]: item["facets"]["datasetType"]["datasetType"] for item in outputs}
    assert kinds == {"ShapesFlow/model": "MODEL", "ShapesFlow/metrics": "JOB_OUTPUT"}
    assert {dataset["namespace"] for dataset in outputs} == {"metaflow://local"}


def test_foreach_splits_have_runs_and_the_join_all_versions(shapes):
    completed = shapes.of("ShapesFlow.score", "COMPLETE")
    gather = shapes.one("ShapesFlow.gather", "COMPLETE")
    assert len({run_id(event) for event in completed}) == 2
    assert upstream(gather) == {("ShapesFlow.score", run_id(event)) for event in completed}
    assert len(gather["inputs"]) == 2


def versions(datasets: list[Event]) -> set[tuple[str, str]]:
    """Short names and versions."""
    return {
        (dataset["name"].partition("/")[2], dataset["facets"]["version"]["datasetVersion"])
        for dataset in datasets
    }


@pytest.mark.parametrize(
    ("job", "tasks", "before", "reads", "read"),
    [
        ("row", 2, "start", "rows", [1, 1]),
        ("cell", 6, "row", "numbers", [1, 1, 1, 1, 1, 1]),
        ("join_row", 2, "cell", "value", [2, 3]),  # two of the second row's four cells are equal
        ("join_all", 1, "join_row", "values", [2]),
    ],
)
def test_nested_foreach_has_upstream_runs_and_versions(nested, job, tasks, before, reads, read):
    """A task reads the outputs of the tasks that it depends on, and none of other branches."""
    completed = nested.of(f"NestedFlow.{job}", "COMPLETE")
    assert len({run_id(event) for event in completed}) == tasks
    runs_by_id = {run_id(event): event for event in nested.of(f"NestedFlow.{before}", "COMPLETE")}
    for event in completed:
        runs = {run for name, run in upstream(event) if name == f"NestedFlow.{before}"}
        assert len(runs) == len(upstream(event))
        wrote = {version for run in runs for version in versions(runs_by_id[run]["outputs"])}
        assert versions(event["inputs"]) == wrote
        assert names(event["inputs"]) == {f"NestedFlow/{reads}"}
    assert sorted(len(event["inputs"]) for event in completed) == read


def test_splits_of_a_nested_foreach_belong_to_their_row(nested):
    cells = [upstream(event) for event in nested.of("NestedFlow.cell", "COMPLETE")]
    joins = [upstream(event) for event in nested.of("NestedFlow.join_row", "COMPLETE")]
    assert sorted(cells.count(row) for row in set(map(frozenset, cells))) == [2, 4]
    assert sorted(map(len, joins)) == [2, 4]
    assert not joins[0] & joins[1]
    (below,) = facet(nested.of("NestedFlow.cell", "START")[0], "jobDependencies")["downstream"]
    assert below["job"]["name"] == "NestedFlow.join_row"


def test_branch_and_join_depend_on_each_other_by_run(shapes):
    (start,) = shapes.of("ShapesFlow.start", "COMPLETE")
    after = facet(start, "jobDependencies")["downstream"]
    assert [event["job"]["name"] for event in after] == ["ShapesFlow.train", "ShapesFlow.ignore"]
    assert upstream(shapes.one("ShapesFlow.compare", "COMPLETE")) == {
        (f"ShapesFlow.{step}", run_id(shapes.one(f"ShapesFlow.{step}", "COMPLETE")))
        for step in ("train", "ignore")
    }


def test_retried_and_killed_attempts_have_failed_runs(shapes):
    failed = shapes.of("ShapesFlow.score", "FAIL")
    messages = sorted(facet(event, "errorMessage")["message"] for event in failed)
    assert messages[0].endswith("was killed or could not start")
    assert messages[1] == "ValueError: flaky postgresql://me:***@host/db"
    completed = {run_id(event) for event in shapes.of("ShapesFlow.score", "COMPLETE")}
    assert not completed & {run_id(event) for event in failed}


def test_caught_exception_completes_the_step_with_a_message(shapes):
    event = shapes.one("ShapesFlow.risky", "COMPLETE")
    assert facet(event, "errorMessage")["message"] == "RuntimeError: this one is caught"


def test_flow_and_tasks_have_parameters_without_secrets(shapes):
    for job in ("ShapesFlow", "ShapesFlow.train", "ShapesFlow.gather"):
        found = facet(shapes.one(job, "COMPLETE"), "executionParameters")["parameters"]
        assert {tag["key"]: tag["value"] for tag in found} == {
            "alpha": "0.5",
            "api_token": "***",
            "store": "postgresql://me:***@host/db",
            "options": "{'deep': 'True'}",
        }


def test_flow_and_tasks_have_owner_and_tags(shapes):
    events = [event for event in shapes.events if event["job"]["name"].count(".") < 2]
    assert any(event["eventType"] == "FAIL" for event in events)
    for event in events:
        owners = event["job"]["facets"]["ownership"]["owners"]
        assert owners == [{"name": "tester", "type": "MAINTAINER"}]
        tags = {(tag["source"], tag["key"]): tag["value"] for tag in facet(event, "tags")["tags"]}
        assert {key: value for (source, key), value in tags.items() if source == "USER"} == {
            "team": "forecast",
            "api_token": "***",
            "nightly": "true",
            "store": "postgresql://me:***@host/db",
        }
        assert tags["METAFLOW", "user"] == "tester"
        assert tags["METAFLOW", "project"] == "everything"
        assert tags["METAFLOW", "run_id"].isdecimal()


def test_jobs_have_source_documentation_and_git_location(shapes):
    flow = shapes.one("ShapesFlow", "COMPLETE")["job"]["facets"]
    step = shapes.one("ShapesFlow.train", "COMPLETE")["job"]["facets"]
    assert flow["documentation"]["description"] == "Does a bit of everything."
    assert step["documentation"]["description"] == "Train on it."
    assert step["sourceCode"]["sourceCode"].startswith("@step\ndef train(self):")
    place = step["sourceCodeLocation"]
    assert place == flow["sourceCodeLocation"]
    assert place["repoUrl"] == "https://example.org/team/flows.git"
    assert place["path"] == "flows/shapes.py"
    assert place["url"].endswith(f"/team/flows/blob/{place['version']}/flows/shapes.py")


def test_declared_tables_have_all_facets(shapes):
    event = shapes.one("ShapesFlow.end", "COMPLETE")
    (read,) = [item for item in event["inputs"] if item["name"] == "/warehouse/t"]
    (written,) = [item for item in event["outputs"] if item["name"] == "/warehouse/forecast"]
    for dataset in (read, written):
        assert dataset["facets"]["version"]["datasetVersion"] == "5124986521368745127"
        assert dataset["facets"]["schema"]["fields"][0]["name"] == "hour"
    (symlink,) = read["facets"]["symlinks"]["identifiers"]
    assert symlink == {"namespace": "lake", "name": "nyc.t", "type": "TABLE"}
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == 24
    (origin,) = written["facets"]["columnLineage"]["fields"]["hour"]["inputFields"]
    assert (origin["name"], origin["field"]) == ("/in.csv", "h")


def test_declarations_of_an_artifact_are_merged(shapes):
    outputs = shapes.one("ShapesFlow.end", "COMPLETE")["outputs"]
    (report,) = [dataset for dataset in outputs if dataset["name"] == "ShapesFlow/report"]
    assert {"version", "datasetType", "columnLineage"} <= report["facets"].keys()


def test_query_and_its_repetition_are_child_runs(shapes):
    job = "ShapesFlow.end.query_e004ebd5"
    assert shapes.ends(job) == ["COMPLETE", "FAIL"]
    done = shapes.one(job, "COMPLETE")
    sql = done["job"]["facets"]["sql"]
    assert (sql["query"], sql["dialect"]) == ("SELECT 1", "duckdb")
    failed = facet(shapes.one(job, "FAIL"), "errorMessage")
    assert failed["message"] == "LookupError: no such table"


def test_step_reports_the_sources_of_query_outputs(shapes):
    stated = shapes.one("ShapesFlow.end", "COMPLETE")["job"]["facets"]["lineage"]["entries"]
    assert {e["name"]: {source["name"] for source in e["inputs"]} for e in stated} == {
        "/q.out": {"/q.csv"},
        "/warehouse/forecast": {"/in.csv", "/warehouse/t"},
        "ShapesFlow/report": {"/in.csv", "/warehouse/t"},
    }
    others = [e for e in shapes.events if "lineage" in e["job"]["facets"]]
    assert {event["job"]["name"] for event in others} == {"ShapesFlow.end"}


def test_spark_and_subprocesses_have_the_step_as_parent(shapes):
    (line,) = [line for line in shapes.process.stdout.splitlines() if "REPORT" in line]
    report = ast.literal_eval(line.partition("REPORT ")[2])
    end = run_id(shapes.one("ShapesFlow.end", "COMPLETE"))
    assert report["parent"] == f"tests/ShapesFlow.end/{end}"
    assert report["conf"] == {
        "spark.openlineage.namespace": "tests",
        "spark.openlineage.parentJobNamespace": "tests",
        "spark.openlineage.parentJobName": "ShapesFlow.end",
        "spark.openlineage.parentRunId": end,
        "spark.openlineage.rootParentJobNamespace": "https://airflow.example/a",
        "spark.openlineage.rootParentJobName": "dag",
        "spark.openlineage.rootParentRunId": "01a0fd4a-49ef-7259-9396-ffb99203fb3f",
    }


def test_failing_step_fails_the_flow_with_its_exception(resumed):
    first, _, _ = resumed
    failed = first.one("SmallFlow.train", "FAIL")
    assert facet(failed, "errorMessage")["message"] == "ValueError: as asked"
    assert "raise ValueError" in facet(failed, "errorMessage")["stackTrace"]
    assert names(failed["inputs"]) == {"SmallFlow/data"}
    assert failed["outputs"] == []
    assert first.ends("SmallFlow") == ["FAIL"]


def test_decorator_declares_models_and_datasets(resumed):
    _, second, _ = resumed
    outputs = second.one("SmallFlow.train", "COMPLETE")["outputs"]
    kinds = {item["name"]: item["facets"]["datasetType"]["datasetType"] for item in outputs}
    assert kinds == {"SmallFlow/fitted": "MODEL", "SmallFlow/count": "JOB_OUTPUT"}
    assert names(resumed[0].one("SmallFlow.start", "COMPLETE")["outputs"]) == {"SmallFlow/data"}


def test_task_facet_has_pathspec_and_card(resumed):
    _, second, third = resumed
    trained = facet(second.one("SmallFlow.train", "COMPLETE"), "metaflow_task")
    ended = facet(third.one("SmallFlow.end", "COMPLETE"), "metaflow_task")
    assert (trained["hasCard"], ended["hasCard"]) == (False, True)
    assert re.fullmatch(r"SmallFlow/\d+/end/\d+", ended["pathspec"])
    assert ended["program"] == "python small.py"


def test_flow_without_launcher_is_its_own_root(resumed):
    first = resumed[0]
    flow = first.one("SmallFlow", "START")
    assert "parent" not in flow["run"]["facets"]
    root = facet(first.one("SmallFlow.start", "START"), "parent")["root"]
    assert root["run"]["runId"] == run_id(flow)


def test_cloned_tasks_emit_no_events(resumed):
    _, second, third = resumed
    assert not second.of("SmallFlow.start")
    assert not third.of("SmallFlow.start")
    assert not third.of("SmallFlow.train")
    assert third.ends("SmallFlow") == ["COMPLETE"]


def test_rerun_task_depends_on_the_producer_of_its_input(resumed):
    first, second, third = resumed
    start = run_id(first.one("SmallFlow.start", "COMPLETE"))
    train = run_id(second.one("SmallFlow.train", "COMPLETE"))
    assert upstream(second.one("SmallFlow.train", "COMPLETE")) == {("SmallFlow.start", start)}
    assert upstream(third.one("SmallFlow.end", "COMPLETE")) == {("SmallFlow.train", train)}
    assert len({run_id(launch.one("SmallFlow", "START")) for launch in resumed}) == 3


def test_metadata_service_determines_run_ids_and_artifact_host(served):
    killed, again = served
    assert "run-id 1)" in killed.process.stdout
    assert killed.ends("SmallFlow") == killed.ends("SmallFlow.train") == ["FAIL"]
    assert again.ends("SmallFlow") == ["COMPLETE"]
    assert not again.of("SmallFlow.start")
    start, train = (
        killed.one("SmallFlow.start", "COMPLETE"),
        again.one("SmallFlow.train", "COMPLETE"),
    )
    assert upstream(train) == {("SmallFlow.start", run_id(start))}
    assert "nominalTime" not in train["run"]["facets"]
    (data,) = train["inputs"]
    assert data["namespace"].startswith("metaflow://127.0.0.1:")
    for launch in served:
        assert "metaflow-openlineage:" not in launch.process.stdout + launch.process.stderr


def test_unstorable_artifact_fails_the_step(troubled):
    event = troubled["unpicklable"].one("SmallFlow.train", "FAIL")
    assert '"lock"' in facet(event, "errorMessage")["message"]
    assert troubled["unpicklable"].ends("SmallFlow") == ["FAIL"]


def test_launcher_fails_a_killed_task(troubled):
    event = troubled["kill"].one("SmallFlow.train", "FAIL")
    assert run_id(event) == run_id(troubled["kill"].one("SmallFlow.train", "START"))
    assert facet(event, "errorMessage")["message"].startswith("TaskDied: ")
    assert troubled["kill"].ends("SmallFlow") == ["FAIL"]


def test_exiting_step_fails(troubled):
    event = troubled["exit"].one("SmallFlow.train", "FAIL")
    assert facet(event, "errorMessage")["message"] == "SystemExit: 3"


def test_step_timeout_fails_the_step(troubled):
    launch = troubled["timeout"]
    event = launch.one("SmallFlow.train", "FAIL")
    message = facet(event, "errorMessage")["message"]
    assert message.startswith("TimeoutException: Step train timed out after 0 hours, 0 minutes, 2")
    assert launch.ends("SmallFlow.start") == ["COMPLETE"]
    assert launch.ends("SmallFlow") == ["FAIL"]


def test_killed_launcher_leaves_its_run_open(troubled):
    launch = troubled["kill-launcher"]
    assert launch.process.returncode == -signal.SIGKILL
    assert [event["eventType"] for event in launch.of("SmallFlow")] == ["START"]
    assert launch.ends("SmallFlow.start") == launch.ends("SmallFlow.train") == ["COMPLETE"]
    assert not launch.of("SmallFlow.end")


@pytest.mark.parametrize("how", ["terminate-launcher", "ctrl-c"])
def test_interrupted_flow_and_its_task_abort(troubled, how):
    launch = troubled[how]
    assert launch.process.returncode != 0
    assert launch.ends("SmallFlow") == ["ABORT"]
    assert set(launch.ends("SmallFlow.train")) == {"ABORT"}


def test_failing_backend_costs_one_warning_and_less_time_per_task(metaflow):
    launch = metaflow.small(
        OPENLINEAGE__TRANSPORT='{"type": "http", "url": "http://127.0.0.1:9"}',
        METAFLOW_OPENLINEAGE_TIMEOUT="1.5",
    )
    assert launch.process.returncode == 0
    output = launch.process.stdout + launch.process.stderr
    assert output.count("the lineage backend http://127.0.0.1:9 does not respond") == 4
    assert output.count("metaflow-openlineage: ") == 4
    assert "TIMEOUT 0.5" in output


def test_disabled_flow_runs_without_events(metaflow):
    launch = metaflow.small(OPENLINEAGE_DISABLED="true")
    assert launch.process.returncode == 0
    assert launch.events == []


@pytest.fixture
def collector():
    """An HTTP server that records the path, key and body of each request."""
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, self.headers["Authorization"], json.loads(body)))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("endpoint", "path"), [("", "/api/v1/lineage"), ("in/lineage", "/in/lineage")]
)
def test_openlineage_variables_set_server_key_and_namespace(metaflow, collector, endpoint, path):
    url, received = collector
    more = {"OPENLINEAGE_ENDPOINT": endpoint} if endpoint else {}
    launch = metaflow.small(
        OPENLINEAGE_URL=url,
        OPENLINEAGE_API_KEY="theirs",
        OPENLINEAGE_NAMESPACE="nightly",
        **more,
    )
    assert launch.process.returncode == 0, launch.process.stderr
    assert {(path, "Bearer theirs")} == {(at, key) for at, key, _ in received}
    flow = [body for *_, body in received if body["job"]["name"] == "SmallFlow"]
    assert [body["eventType"] for body in flow] == ["START", "COMPLETE"]
    assert {body["job"]["namespace"] for *_, body in received} == {"nightly"}


def test_disabled_flow_sends_nothing_to_openlineage_url(metaflow, collector):
    url, received = collector
    launch = metaflow.small(OPENLINEAGE_URL=url, OPENLINEAGE_DISABLED="true")
    assert launch.process.returncode == 0
    assert received == []
