"""`headwater replay` sends stored events again, or shows what would change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from headwater.errors import UnavailableError
from headwater.log import EventLog
from headwater.plugins.delivery._replay import replay_events
from headwater.plugins.delivery.backends import Http
from headwater.plugins.delivery.models import HttpSettings
from headwater.posting import Backoff
from headwater.projection.live import Batch, Live
from headwater.server.app import make_app
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.sinks import Sink
from packages.headwater.tests.support.sinks import serving as serving_sink


@pytest.fixture
def events(build: Any) -> list[Any]:
    """Three jobs: files to a table, the table to a report, the report to a mail."""
    return [
        build.run("COMPLETE", "1", "load", "08:00:00", reads=("s3://l|in",), writes=("db|t",)),
        build.run("COMPLETE", "2", "report", "09:00:00", reads=("db|t",), writes=("db|r",)),
        build.run("COMPLETE", "3", "mail", "10:00:00", reads=("db|r",)),
    ]


@pytest.fixture
def log(tmp_path: Path, events: list[Any], build: Any) -> str:
    """Return the file of a log with these events."""
    _fill(tmp_path / "log.db", build, events).log.close()
    return str(tmp_path / "log.db")


@pytest.fixture
def there(tmp_path: Path, build: Any, serving: Any) -> Callable[..., str]:
    """Return a function that starts a server with some events; it returns the URL."""
    return lambda *events: serving(make_app(_fill(tmp_path / "there.db", build, events)))


@pytest.fixture
def sink() -> Iterator[Sink]:
    with serving_sink(Sink()) as sink:
        yield sink


def _fill(path: Path, build: Any, events: Any) -> Live:
    live = Live(EventLog(str(path)))
    live.ingest(Batch([build.entry(event) for event in events]))
    return live


def _diff(call: Call, source: str, url: str, *options: str) -> Any:
    answer = call("replay", "--from", source, "--to", url, "--diff", "--json", *options)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_diff_lists_what_a_replay_then_changes(
    log: str, there: Callable[..., str], events: list[Any], call: Call, build: Any
) -> None:
    other = build.run("COMPLETE", "9", "other", "07:00:00", writes=("db|o",))
    stale = build.run("COMPLETE", "8", "report", "07:00:00", reads=("db|old",), writes=("db|r",))
    url = there(events[0], stale, other)
    before = _diff(call, log, url)
    assert before["edgesAdded"] == [
        ["dataset:db:r", "job:demo:mail"],
        ["dataset:db:t", "job:demo:report"],
    ]
    assert before["edgesRemoved"] == [["dataset:db:old", "job:demo:report"]]
    assert (before["jobs"], before["otherJobs"], before["same"]) == (3, 1, 3)
    shown = call("replay", "--from", log, "--to", url, "--diff").stdout
    assert "- dataset:db:old → job:demo:report" in shown
    assert "; 1 other job only at" in shown
    sent = call("replay", "--from", log, "--to", url)
    assert (sent.returncode, sent.stderr) == (0, "3 events sent, 0 rejected\n")
    after = _diff(call, log, url)
    assert (after["edgesAdded"], after["edgesRemoved"]) == ([], [])
    assert "No differences." in call("replay", "--from", log, "--to", url, "--diff").stdout


def test_names_of_the_target_are_compared_by_the_rules_of_this_version(
    tmp_path: Path, there: Callable[..., str], call: Call, build: Any
) -> None:
    def load(name: str) -> Any:
        return build.run("COMPLETE", "1", "load", "08:00:00", writes=(name,))

    link = {
        "symlinks": {
            "identifiers": [{"namespace": "hive://h:9083", "name": "d.t", "type": "TABLE"}]
        }
    }
    linked = load("s3://lake|t")
    linked["outputs"][0]["facets"] = link
    _fill(tmp_path / "log.db", build, [linked]).log.close()
    found = _diff(call, str(tmp_path / "log.db"), there(load("s3://lake|t")))
    assert found["renamed"] == [["dataset:s3://lake:t", "dataset:hive://h:9083:d.t"]]
    assert (found["edgesAdded"], found["edgesRemoved"], found["same"]) == ([], [], 1)


def test_jobs_with_a_newer_run_at_the_target_are_only_listed(
    log: str, there: Callable[..., str], call: Call, build: Any
) -> None:
    newer = build.run("COMPLETE", "9", "load", "12:00:00", reads=("db|new",), writes=("db|t",))
    url = there(newer)
    found = _diff(call, log, url)
    assert found["newerJobs"] == ["job:demo:load"]
    assert not any("load" in node for edge in found["edgesAdded"] for node in edge)
    assert found["edgesRemoved"] == []
    shown = call("replay", "--from", log, "--to", url, "--diff").stdout
    assert "1 job with a newer run at the target, not compared: job:demo:load" in shown
    call("replay", "--from", log, "--to", url)
    after = call("tree", "dataset:db:t", "--up", "--depth", "2", "--url", url).stdout
    assert "new" in after
    assert "in" not in after.split()


def test_columns_are_compared_on_request(
    tmp_path: Path, there: Callable[..., str], call: Call, build: Any
) -> None:
    def load(column: str) -> Any:
        event = build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|a",), writes=("db|t",))
        source = {"namespace": "db", "name": "a", "field": column}
        fields = {"x": {"inputFields": [source]}}
        event["outputs"][0]["facets"] = {"columnLineage": {"fields": fields}}
        return event

    _fill(tmp_path / "log.db", build, [load("new")]).log.close()
    url, source = there(load("old")), str(tmp_path / "log.db")
    assert _diff(call, source, url)["columnsCompared"] is None
    found = _diff(call, source, url, "--columns")
    assert [pair["sourceColumn"] for pair in found["columnsAdded"]] == ["new"]
    assert [pair["sourceColumn"] for pair in found["columnsRemoved"]] == ["old"]
    shown = call("replay", "--from", source, "--to", url, "--diff", "--columns").stdout
    assert "+ dataset:db:a.new → dataset:db:t.x" in shown


def test_files_and_servers_are_sources_too(
    tmp_path: Path, there: Callable[..., str], sink: Sink, events: list[Any], call: Call
) -> None:
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, events)) + "\n{}\n")
    sent = call("replay", "--from", str(tmp_path / "events.jsonl"), "--to", sink.url)
    assert sent.stderr.startswith("1 invalid event left out; the first:")
    assert sent.stderr.endswith("3 events sent, 0 rejected\n")
    sent = call(
        "replay", "--from", there(*events), "--to", sink.url, "--since", "2025-11-21T09:00Z"
    )
    assert sent.stderr == "2 events sent, 0 rejected, 1 older left out\n"
    assert sink.runs() == ["1", "2", "3", "2", "3"]


def test_backend_of_a_deliver_file_is_previewed_without_sending(
    tmp_path: Path, log: str, sink: Sink, call: Call
) -> None:
    config = tmp_path / "deliver.yaml"
    backends = [
        {"name": "old", "type": "marquez", "url": sink.url},
        {"name": "catalog", "type": "openmetadata", "url": sink.url},
    ]
    config.write_text(json.dumps({"backends": backends}))
    found = _diff(call, log, "catalog", "--config", str(config))
    assert found["events"] == 3
    assert {"kind": "runs", "reported": 3, "arrived": 0} in found["lost"]
    shown = call("replay", "--from", log, "--to", "catalog", "--config", str(config), "--diff")
    assert "- runs: 0 of 3 arrive" in shown.stdout
    assert not sink.requests
    sent = call("replay", "--from", log, "--to", "old", "--config", str(config))
    assert sent.returncode == 0
    assert sink.requests
    unknown = call("replay", "--from", log, "--to", "gone", "--config", str(config))
    assert (unknown.returncode, "no backend 'gone', only old, catalog" in unknown.stderr) == (
        2,
        True,
    )


def test_rejected_events_are_listed_and_the_others_are_sent(
    log: str, sink: Sink, call: Call
) -> None:
    sink.answer = lambda body, _nth: 422 if body["run"]["runId"] == "2" else 201
    sent = call("replay", "--from", log, "--to", sink.url)
    assert sent.returncode == 1
    assert "2 events sent, 1 rejected" in sent.stderr
    assert "event 2: " in sent.stderr
    assert sink.runs() == ["1", "3"]


def test_replay_continues_after_the_last_sent_event(
    tmp_path: Path, log: str, sink: Sink, call: Call
) -> None:
    sink.answer = lambda body, _nth: 503 if body["run"]["runId"] == "2" else 201
    live = Live(EventLog(log))
    backend = Http(HttpSettings(name="x", url=sink.url))
    quick = Backoff(first=0.001, most=0.001)
    with pytest.raises(UnavailableError, match="Sent 1 event; continue with --after 1"):
        replay_events(live, backend, since=0, after=0, backoff=quick)
    backend.close()
    live.log.close()
    sink.answer = lambda _body, _nth: 201
    sent = call("replay", "--from", log, "--to", sink.url, "--after", "1")
    assert sent.stderr == "2 events sent, 0 rejected\n"
    assert sink.runs() == ["1", "2", "3"]


def test_keys_are_sent_only_to_the_server_they_are_for(
    log: str, sink: Sink, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_API_KEY", "of-another-server")
    monkeypatch.setenv("THERE", "its-key")
    call("replay", "--from", log, "--to", sink.url)
    assert all("Authorization" not in headers for headers in sink.headers)
    call("replay", "--from", log, "--to", sink.url, "--to-key", "THERE")
    assert sink.headers[-1]["Authorization"] == "Bearer its-key"
    missing = call("replay", "--from", log, "--to", sink.url, "--to-key", "NOT_SET")
    assert missing.returncode == 2
    assert "'NOT_SET' is not set" in missing.stderr


def test_unusable_sources_and_targets_are_reported(
    tmp_path: Path, log: str, sink: Sink, serving: Callable[..., str], call: Call
) -> None:
    def error(*options: str) -> str:
        answer = call("replay", *options)
        assert answer.returncode in (2, 3)
        return answer.stderr

    (tmp_path / "empty.jsonl").write_text("{}\n")
    empty = str(tmp_path / "empty.jsonl")
    assert "there is no gone.db" in error("--from", "gone.db", "--to", sink.url)
    assert "found no valid events in" in error("--from", empty, "--to", sink.url)
    assert "expected a URL such as" in error("--from", log, "--to", "marquez")
    assert "expected no path" in error("--from", log, "--to", f"{sink.url}/api")
    assert "pass it with --diff" in error("--from", log, "--to", sink.url, "--columns")
    assert "is not headwater" in error("--from", log, "--to", serving(FastAPI()), "--diff")
    unreachable = error("--from", log, "--to", "http://127.0.0.1:9", "--diff")
    assert "pass the URL of another server with --to" in unreachable
    assert "--url" not in unreachable
