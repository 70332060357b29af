"""Alerts: violations of rules, one alert per cause, actions."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest

from headwater.errors import ConfigError
from headwater.events import parse_time, to_micros
from headwater.plugin import parts
from headwater.plugins.alerts.endpoints import alerts_answer
from headwater.plugins.alerts.rules import Action, read_rules
from headwater.plugins.alerts.watch import Watch
from headwater.posting import Backoff
from headwater.projection.live import Batch, Live
from packages.headwater.tests.support.graphs import scheduled
from packages.headwater.tests.support.servers import Server
from packages.headwater.tests.support.sinks import Sink, serving

pytestmark = pytest.mark.each_database

_MAIN = [sys.executable, "-c", "from headwater.cli import main; main()"]
_NOW = Backoff(first=0, most=0)
Look = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def sink() -> Iterator[Sink]:
    with serving(Sink()) as sink:
        yield sink


def _rules(tmp_path: Path, *rules: dict[str, Any]) -> Path:
    path = tmp_path / "alerts.yaml"
    path.write_bytes(orjson.dumps({"rules": rules}))  # JSON is YAML
    return path


@pytest.fixture
def look(live: Live, tmp_path: Path) -> Look:
    """Return a function that checks a rule like a new process and returns all alerts by time."""

    def look(kind: str, clock: Callable[[], float] = time.time, **more: Any) -> list[Any]:
        rule = {"name": "r", "kind": kind, "actions": [{"type": "log"}], **more}
        Watch(read_rules(_rules(tmp_path, rule)), Live(live.log, clock=clock))
        return alerts_answer(live.log, 100)["items"][::-1]

    return look


def _take(live: Live, build: Any, *bodies: Any) -> None:
    live.ingest(Batch([build.entry(body) for body in bodies]))


def test_existing_violation_of_a_new_rule_fires_no_alert(
    live: Live, look: Look, build: Any
) -> None:
    _take(live, build, build.run("FAIL", "old", "j", "08:00:00"))
    assert [(item["runId"], item["isPending"]) for item in look("failed")] == [("old", False)]
    _take(live, build, build.run("FAIL", "new", "j", "09:00:00"))
    assert [(item["runId"], item["isPending"]) for item in look("failed")][-1] == ("new", True)
    assert len(look("failed")) == 2


def test_failed_pipeline_is_one_alert_naming_the_failed_task(
    live: Live, look: Look, build: Any
) -> None:
    look("failed")
    dag, error = ("d", "dag"), {"errorMessage": {"message": "no space left"}}
    _take(
        live,
        build,
        build.run("FAIL", "t", "dag.load", "08:01:00", parent=dag, facets=error),
        build.run("FAIL", "d", "dag", "08:02:00"),
        build.run("COMPLETE", "g", "good", "08:02:00"),
    )
    (alert,) = look("failed")
    assert (alert["rule"], alert["kind"], alert["subject"]) == ("r", "failed", "job:demo:dag")
    assert alert["message"] == "dag failed (dag.load: no space left)"


def test_patterns_match_jobs_by_name_or_namespace_at_any_level(
    live: Live, look: Look, build: Any
) -> None:
    look("failed", jobs=["*.load", "demo/other"])
    _take(
        live,
        build,
        build.run("FAIL", "t", "dag.load", "08:01:00", parent=("d", "dag")),
        build.run("FAIL", "d", "dag", "08:02:00"),
        build.run("FAIL", "o", "other", "08:02:00"),
    )
    result = look("failed", jobs=["*.load", "demo/other"])
    assert {item["subject"] for item in result} == {"job:demo:dag.load", "job:demo:other"}


def test_failed_ad_hoc_query_fires_only_rules_with_its_job(
    live: Live, look: Look, build: Any
) -> None:
    look("failed")
    query = build.run("FAIL", "q", "sql", "08:01:00")
    query["job"]["facets"]["tags"] = {"tags": [{"key": "ad-hoc", "value": "true"}]}
    _take(live, build, query, build.run("FAIL", "d", "dag", "08:02:00"))
    assert [item["subject"] for item in look("failed")] == ["job:demo:dag"]
    assert "job:demo:sql" in {item["subject"] for item in look("failed", jobs=["sql"])}


def test_run_without_reported_parent_is_evaluated_on_its_own(
    live: Live, look: Look, build: Any
) -> None:
    look("failed")
    _take(live, build, build.run("FAIL", "t", "dbt", "08:01:00", parent=("d", "silent")))
    assert [item["subject"] for item in look("failed")] == ["job:demo:dbt"]


def test_stale_run_fires_one_alert(live: Live, look: Look, build: Any) -> None:
    look("lost")
    _take(
        live,
        build,
        build.run("START", "d", "dag", "08:00:00"),
        build.run("START", "t", "dag.load", "08:01:00", parent=("d", "dag")),
        build.run("START", "e", "ended", "08:00:00"),
        build.run("COMPLETE", "e", "ended", "08:01:00"),
    )
    for _ in range(2):
        assert [item["runId"] for item in look("lost")] == ["d"]


def test_job_is_late_once_per_missed_start(live: Live, look: Look, build: Any) -> None:
    hours = [scheduled(build, f"{h:02}", "hourly") for h in range(4)]
    _take(live, build, *hours)
    for now, fired in (("03:30", 0), ("05:10", 1), ("05:20", 1)):
        seconds = to_micros(parse_time(f"2025-11-21T{now}:00")) / 1_000_000
        result = look("late", clock=lambda seconds=seconds: seconds)
        late = [
            "hourly is late: it usually runs every 1 h and was due at 2025-11-21T04:00:00Z"
        ] * fired
        assert [item["message"] for item in result] == late


def test_failed_check_fires_an_alert_unless_it_only_warns(
    live: Live, look: Look, build: Any
) -> None:
    look("quality", datasets=["a*"])

    def checked(run: str, name: str, severity: str) -> Any:
        body = build.run("COMPLETE", run, "check", "08:00:00", reads=(f"db|{name}",))
        broken = {"assertion": "not_null", "column": "id", "success": False, "severity": severity}
        held = {"assertion": "unique", "success": True}
        facet = {"dataQualityAssertions": {"assertions": [broken, held]}}
        body["inputs"][0]["inputFacets"] = facet
        return body

    _take(
        live,
        build,
        checked("1", "a1", "error"),
        checked("2", "a2", "warn"),
        checked("3", "b", "error"),
    )
    (alert,) = look("quality", datasets=["a*"])
    assert (alert["subject"], alert["runId"]) == ("dataset:db:a1", "1")
    assert alert["message"] == "a1 failed its checks: not_null of id"


def test_incident_is_one_message_with_the_owners_and_commands(
    live: Live, look: Look, build: Any
) -> None:
    look("incident", datasets=["raw"])
    load = build.run("COMPLETE", "1", "dag", "08:00:00", kind="AIRFLOW/DAG", writes=("db|raw",))
    check = build.run("COMPLETE", "2", "check", "09:00:00", reads=("db|raw",))
    broken = {"assertion": "unique", "success": False}
    check["inputs"][0]["inputFacets"] = {"dataQualityAssertions": {"assertions": [broken]}}
    use = build.run("COMPLETE", "3", "use", "10:00:00", reads=("db|raw",), writes=("db|out",))
    use["job"]["facets"]["ownership"] = {"owners": [{"name": "ann"}]}
    _take(live, build, load, check, use)
    (alert,) = look("incident", datasets=["raw"])
    assert (alert["kind"], alert["subject"], alert["isPending"]) == (
        "quality", "dataset:db:raw", True,
    )  # fmt: skip
    assert "raw has an incident: raw@1 failed unique." in alert["message"]
    assert "ann: out" in alert["message"]
    assert alert["remedy"].startswith("run again: airflow dags trigger dag; use")


def test_every_schema_change_fires_an_alert(live: Live, look: Look, build: Any) -> None:
    look("schema")

    def wrote(run: str, time: str, *fields: str) -> Any:
        body = build.run("COMPLETE", run, "j", time)
        schema = {"fields": [{"name": name, "type": "int"} for name in fields]}
        body["outputs"] = [build.dataset("db|t", schema=schema)]
        return body

    _take(live, build, wrote("1", "08:00:00", "a", "b"), wrote("2", "09:00:00", "a", "b"))
    assert look("schema") == []
    _take(live, build, wrote("3", "10:00:00", "a", "c"))
    (alert,) = look("schema")
    assert alert["message"] == "t has another schema: added c; removed b"
    assert (alert["subject"], alert["runId"]) == ("dataset:db:t", "3")


def test_completeness_fires_again_only_after_recovery(live: Live, look: Look, build: Any) -> None:
    more = {"below": 0.6, "measure": "inputs"}
    assert look("completeness", **more) == []
    half = build.run("COMPLETE", "1", "j", "08:00:00", writes=("db|b",))
    whole = [
        build.run("COMPLETE", f"w{n}", "j", f"09:0{n}:00", reads=("db|a",), writes=("db|b",))
        for n in range(2)
    ]
    _take(live, build, half)
    for _ in range(2):
        (alert,) = look("completeness", **more)
        assert alert["message"] == "inputs reported by 0% of 1 run; incomplete: j"
    _take(live, build, *whole)
    assert look("completeness", **more) == []
    again = (build.run("COMPLETE", f"h{n}", "j", "10:00:00", writes=("db|b",)) for n in range(3))
    _take(live, build, *again)
    assert len(look("completeness", **more)) == 1


def test_alert_is_sent_once_also_across_restarts(
    live: Live, tmp_path: Path, sink: Sink, build: Any, caplog: pytest.LogCaptureFixture
) -> None:
    result = tmp_path / "record"
    code = f"import sys; open({str(result)!r}, 'ab').write(sys.stdin.buffer.read() + b'\\n')"
    actions = [
        {"type": "log"},
        {"type": "webhook", "url": sink.url},
        {"type": "command", "argv": [sys.executable, "-c", code]},
    ]
    rules = _rules(tmp_path, {"name": "broken", "kind": "failed", "actions": actions})
    Watch(read_rules(rules), live).act()
    _take(live, build, build.run("FAIL", "r", "j", "08:00:00"))
    sink.answer = lambda _body, nth: 503 if nth < 2 else 201
    for _ in range(4):
        watch = Watch(read_rules(rules), live, _NOW)
        watch.act()
        watch.stop()
    (posted,) = sink.taken
    assert posted | {"firedAt": ""} == {
        "rule": "broken",
        "severity": "error",
        "kind": "failed",
        "subject": "job:demo:j",
        "column": None,
        "message": "j failed",
        "remedy": "correct the cause and run the job again",
        "runId": "r",
        "at": "2025-11-21T08:00:00Z",
        "firedAt": "",
    }
    assert orjson.loads(result.read_bytes()) == posted
    warnings = [
        record.getMessage() for record in caplog.records if record.name == "headwater.alerts"
    ]
    assert warnings == ["broken: j failed"]
    (alert,) = alerts_answer(live.log, 10)["items"]
    assert (alert["isPending"], alert["error"]) == (False, None)


@pytest.mark.parametrize("shows_sql", [False, True])
def test_actions_send_sql_only_if_they_are_allowed_to(
    shows_sql: bool, live: Live, tmp_path: Path, sink: Sink, build: Any
) -> None:
    action = {"type": "webhook", "url": sink.url, **({"sql": True} if shows_sql else {})}
    rules = _rules(tmp_path, {"name": "broken", "kind": "failed", "actions": [action]})
    Watch(read_rules(rules), live)
    error = {"errorMessage": {"message": "syntax error in: SELECT pay FROM staff WHERE id = 7"}}
    dag = ("d", "dag")
    task = build.run("FAIL", "t", "dag.load", "08:01:00", parent=dag, facets=error)
    _take(live, build, task, build.run("FAIL", "d", "dag", "08:02:00"))
    Watch(read_rules(rules), live, _NOW).act()
    (posted,) = sink.taken
    assert ("pay" in orjson.dumps(posted).decode()) is shows_sql
    assert posted["message"].startswith("dag")
    assert all(found["message"] and "hidden" not in found for found in (posted, *posted["causes"]))


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"type": "command", "argv": ["false"]}, "false exited with 1"),
        ({"type": "command", "argv": ["no-such-command"]}, "no-such-command: "),
        ({"type": "webhook", "url": "SINK/secret-path"}, "webhook at 127.0.0.1 answered 400"),
    ],
    ids=["ends badly", "is not there", "refuses"],
)
def test_undeliverable_alert_stores_the_reason_without_secrets(
    action: dict[str, Any], message: str, live: Live, tmp_path: Path, sink: Sink, build: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    sink.answer = lambda _body, _nth: 400
    action = {key: _at(sink, value) for key, value in action.items()}
    rules = _rules(tmp_path, {"name": "x", "kind": "failed", "actions": [action]})
    Watch(read_rules(rules), live)
    _take(live, build, build.run("FAIL", "r", "j", "08:00:00"))
    Watch(read_rules(rules), live).act()
    (alert,) = alerts_answer(live.log, 10)["items"]
    assert alert["isPending"] is False
    assert alert["error"]
    assert message in alert["error"]
    assert "secret-path" not in alert["error"] + caplog.text


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # which apprise imports
def test_notification_is_sent_by_apprise_and_retried_without_its_secret(
    live: Live, tmp_path: Path, sink: Sink, build: Any, caplog: pytest.LogCaptureFixture
) -> None:
    url = sink.url.replace("http://", "json://") + "/secret-path"
    action = {"type": "notify", "url": url}
    rules = _rules(tmp_path, {"name": "x", "kind": "failed", "actions": [action]})
    Watch(read_rules(rules), live)
    _take(live, build, build.run("FAIL", "r", "j", "08:00:00"))
    sink.answer = lambda _body, nth: 503 if nth < 1 else 201
    Watch(read_rules(rules), live, _NOW).act()
    assert alerts_answer(live.log, 10)["items"][0]["isPending"] is True
    Watch(read_rules(rules), live, _NOW).act()
    assert alerts_answer(live.log, 10)["items"][0]["isPending"] is False
    (posted,) = sink.taken
    assert (posted["title"], posted["message"].splitlines()[0]) == ("x", "j failed")
    assert "the notification by json failed" in caplog.text
    assert "secret-path" not in caplog.text


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")
def test_notification_needs_apprise_and_a_known_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = {"type": "notify", "url": "nonsense://secret"}
    path = _rules(tmp_path, {"name": "r", "kind": "failed", "actions": [action]})
    with pytest.raises(ConfigError, match="url: expected the URL of a notify") as unknown:
        read_rules(path)
    assert "secret" not in str(unknown.value)
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(ConfigError, match=r"pip install './packages/headwater\[alerts\]'"):
        read_rules(path)


def _at(sink: Sink, value: Any) -> Any:
    return value.replace("SINK", sink.url) if isinstance(value, str) else value


@pytest.mark.server
def test_restarted_server_does_not_repeat_alerts(
    serve: Callable[..., Server], tmp_path: Path, sink: Sink, build: Any
) -> None:
    action = {"type": "webhook", "url": sink.url}
    rules = _rules(tmp_path, {"name": "x", "kind": "failed", "actions": [action]})
    for run in ("first", "second"):
        server = serve(tmp_path / "log.db", "--alerts", str(rules))
        server.post(build.run("FAIL", run, "j", "08:00:00"))
        sink.wait(lambda: sink.taken[-1:] != [] and sink.taken[-1]["runId"] == run)  # noqa: B023
        alert: dict[str, Any] = {"isPending": True}
        while alert["isPending"]:  # until it is marked as done, a crash would repeat it
            (alert,) = server.get("/api/v2/alerts?limit=1")["items"]
        assert alert["runId"] == run
        server.stop(signal.SIGKILL if run == "first" else signal.SIGTERM)
    assert [alert["runId"] for alert in sink.taken] == ["first", "second"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"kind": "fire"}, r"rules\[0\].kind: received 'fire', expected 'failed', .*ness'$"),
        ({"kind": "faild"}, r"received 'faild', expected .* \(did you mean 'failed'\?\)"),
        ({"when": "x"}, r"rules\[0\]: received the key 'when', expected only name, kind, act"),
        ({"name": ""}, r"rules\[0\].name: received '', expected a string of at least 1 char"),
        ({"kind": "completeness"}, r"below: received None with kind completeness"),
        ({"below": 0.5}, r"below: received 0.5 with kind failed"),
        ({"actions": ["x"]}, r"actions\[0\]: received 'x', expected a valid dictionary"),
        ({"actions": [{"type": "fax"}]}, r"actions\[0\]: .*'fax'.*'log', 'webhook', 'command'"),
        (
            {"actions": [{"type": "command", "argv": []}]},
            r"argv: received \[\], expected a list of",
        ),
        ({"actions": [{"type": "webhook"}]}, r"actions\[0\].*: expected `url`, or `url_env`"),
        ({"actions": [{"type": "webhook", "url_env": "NO"}]}, r"url_env: expected the URL"),
    ],
)
def test_invalid_alerts_file_error_names_file_and_allowed_values(
    rule: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = _rules(tmp_path, {"name": "r", "kind": "failed", "actions": [], **rule})
    with pytest.raises(ConfigError, match=message):
        read_rules(path)


def test_docs_example_is_valid_and_lists_every_kind_and_action(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALERT_WEBHOOK", "https://chat.example.org/hook")
    text = (Path(__file__).resolve().parents[5] / "docs/how-to/deliver.md").read_text()
    (tmp_path / "alerts.yaml").write_text(text.split("# alerts.yaml\n")[1].split("```")[0])
    assert len(read_rules(tmp_path / "alerts.yaml")) == 4
    types = {class_.model_fields["type"].default for class_ in get_args(get_args(Action)[0])}
    named = set(re.findall(r"^\| `(\w+)` \|", text.split("# Alerts\n")[1], flags=re.MULTILINE))
    assert named == {*parts("alerts"), *types}
