from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from headwater.errors import ConfigError, LogError
from headwater.log import EventLog, Offset, RejectedLine, entry_of
from headwater.redaction import DEFAULT, Redactor

pytestmark = pytest.mark.each_database


def test_event_is_stored_once_and_unchanged(log: EventLog, build: Any) -> None:
    body = build.run("START", "r1", "j", "08:00:00")
    raw = orjson.dumps(body, option=orjson.OPT_INDENT_2)
    entry = entry_of(raw)
    assert log.append([entry, entry]).new == {entry.hash}
    assert log.append([entry_of(orjson.dumps(body))]).new == frozenset()
    assert [text for _, text in log.read()] == [raw.decode()]


def test_append_returns_seq_before_and_after(log: EventLog, build: Any) -> None:
    first, second = (build.entry(build.run("START", run, "j", "08:00:00")) for run in "ab")
    begun = log.append([first])
    appended = log.append([first, second])
    assert appended.before == begun.after
    assert appended.new == {second.hash}
    assert [seq for seq, _ in log.read(begun.after)] == [appended.after]


def test_acknowledged_events_are_durable(database: str) -> None:
    if database.startswith("postgresql"):  # a server whose administrator prefers speed
        engine = create_engine(database, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            name = make_url(database).database
            connection.exec_driver_sql(f"ALTER DATABASE {name} SET synchronous_commit = off")
        engine.dispose()
    log = EventLog(database)
    wanted = {"PRAGMA synchronous": 2, "PRAGMA journal_mode": "wal"}
    if database.startswith("postgresql"):
        wanted = {"SHOW synchronous_commit": "on"}
    with log.reading() as connection:
        assert {sql: connection.exec_driver_sql(sql).scalar() for sql in wanted} == wanted
    log.close()


def test_reader_sees_all_events_of_concurrent_writers(database: str, build: Any) -> None:
    logs = [EventLog(database) for _ in range(4)]
    entries = [build.entry(build.run("START", f"{n}", "j", "08:00:00")) for n in range(120)]
    results: list[int] = []
    with ThreadPoolExecutor(len(logs)) as pool:
        parts = [entries[n :: len(logs)] for n in range(len(logs))]
        writing = [
            pool.submit(lambda log, part: [log.append([entry]) for entry in part], log, part)
            for log, part in zip(logs, parts, strict=True)
        ]
        is_over = False
        while not is_over:
            # Reading without a pause would keep Python's own lock from the writers.
            is_over = not wait(writing, timeout=0.002).not_done
            results += [seq for seq, _ in logs[0].read(after=results[-1] if results else 0)]
        for item in writing:
            item.result()
    assert (len(results), sorted(set(results))) == (len(entries), results)
    for log in logs:
        log.close()


def test_offsets_and_events_are_stored_atomically(log: EventLog, build: Any) -> None:
    offset = Offset("/spool/a.jsonl", 7, 10, "head")
    broken = RejectedLine("x", "y", None)  # type: ignore[arg-type]
    with pytest.raises((LogError, AttributeError)):
        log.append([build.entry(build.run("START", "r", "j", "08:00:00"))], [offset], [broken])
    assert (list(log.read()), log.offsets()) == ([], {})
    log.append(
        [], [offset], [RejectedLine("a:1", "why", "line"), RejectedLine("b:2", "why", "line")]
    )
    assert log.offsets() == {offset.path: offset}
    assert log.rejected_lines() == [RejectedLine("a:1", "why", "line")]


def test_store_of_a_newer_version_is_rejected(tmp_path: Path) -> None:
    EventLog(str(tmp_path / "log.db")).close()
    with sqlite3.connect(tmp_path / "log.db") as connection:
        connection.execute("UPDATE meta SET value = '999'")
    connection.close()
    with pytest.raises(LogError, match="schema version 999.*newer headwater"):
        EventLog(str(tmp_path / "log.db"))


def test_unavailable_database_error_has_the_url() -> None:
    with pytest.raises(ConfigError, match=r"nosuch://x.*sqlite:///"):
        EventLog("nosuch://x")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("jdbc:postgresql://u:hunter2@db:5432/x", "jdbc:postgresql://u:***@db:5432/x"),
        ("https://h/p?user=a&password=hunter2&x=1", "https://h/p?user=a&password=***&x=1"),
        ("create user x identified by 'hunter2'", "create user x identified by '***'"),
        ("COPY t FROM 's3://b' CREDENTIALS 'x'", "COPY t FROM 's3://b' CREDENTIALS 'x'"),
        ("with (secret = 'hunter2', n = 1)", "with (secret = '***', n = 1)"),
        ('{"api_key": "hunter2"}', '{"api_key": "***"}'),
        (
            "--conf spark.hadoop.fs.s3a.secret.key=hunter2 x",
            "--conf spark.hadoop.fs.s3a.secret.key=*** x",
        ),
        ("Authorization: Bearer abcdefghijklmnop123", "Authorization: Bearer ***"),
        ("AKIAABCDEFGHIJKLMNOP", "***"),
        ("https://b.blob/x?sv=1&sig=hunter2%3D", "https://b.blob/x?sv=1&sig=***"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", "***"),
        ("select token, password from users where max_tokens = 5", None),
        ("s3://bucket/key=2024-01/part-0.parquet", None),
        ("select count(*) from secrets join keys using (id)", None),
        ("postgres://db.example.org:5432/shop", None),
    ],
)
def test_only_secrets_are_masked(text: str, clean: str | None) -> None:
    assert DEFAULT.redact_text(text) == (text if clean is None else clean)


def test_values_of_secret_keys_are_masked() -> None:
    body = {
        "properties": {"spark.ssl.keyPassword": "hunter2", "spark.app.name": "x", "dbToken": ""},
        "environmentVariables": [{"name": "DB_PASSWORD", "value": "hunter2"}],
        "fields": [{"name": "token", "type": "string"}],
        "columns": {"password": {"inputFields": []}},
    }
    clean = DEFAULT.redact(body)
    assert b"hunter2" not in orjson.dumps(clean)
    assert clean["properties"]["spark.app.name"] == "x"
    assert clean["fields"] is body["fields"]
    assert clean["columns"] == body["columns"]


def test_secrets_are_not_stored(tmp_path: Path, build: Any) -> None:
    log = EventLog(str(tmp_path / "log.db"))
    body = build.run("START", "r", "j", "08:00:00", reads=("postgres://u:hunter2@db|t",))
    log.append([build.entry(body)])
    log.close()
    files = list(tmp_path.glob("log.db*"))
    assert files
    assert not any(b"hunter2" in file.read_bytes() for file in files)


def test_real_events_keep_everything_except_secrets(recorded: Path) -> None:
    for file in sorted((recorded / "openlineage-events" / "this-stack").glob("*.jsonl")):
        for line in file.read_bytes().splitlines():
            assert entry_of(line).body == line.decode()


def test_database_password_is_never_shown(tmp_path: Path) -> None:
    with pytest.raises(LogError) as caught:
        EventLog("postgresql+psycopg://user:hunter2@127.0.0.1:1/none")
    assert "hunter2" not in str(caught.value)
    log = EventLog(str(tmp_path / "log.db"))
    assert log.shown_url.endswith("log.db")
    log.close()


def test_custom_rules_extend_the_built_in_ones(tmp_path: Path, build: Any) -> None:
    rules = tmp_path / "redact.yaml"
    rules.write_text("keys: [ssn, 'x-internal-.*']\npatterns: ['\\bcust-[0-9]+']\n")
    facets = {"x": {"SSN": "1234", "x-internal-id": "5678", "note": "of cust-99", "password": "p"}}
    body = build.run("START", "r", "j", "08:00:00", facets=facets)
    entry = entry_of(orjson.dumps(body), redactor=Redactor.of(str(rules)))
    result = orjson.loads(entry.body)["run"]["facets"]["x"]
    assert result == {"SSN": "***", "x-internal-id": "***", "note": "of ***", "password": "***"}


def test_redaction_can_be_turned_off(build: Any) -> None:
    body = build.run("START", "r", "j", "08:00:00", facets={"x": {"password": "hunter2"}})
    raw, off = orjson.dumps(body), Redactor.of("off")
    assert "hunter2" not in entry_of(raw, redactor=Redactor.of("")).body
    assert entry_of(raw, redactor=off).body == raw.decode()
    assert off.redact_text("password=hunter2") == "password=hunter2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("keys: ['(']", r"received '\(', expected a regular expression"),
        ("words: [a]", "received words, allowed keys: keys, patterns"),
        ("keys: a", "keys: received 'a'"),
    ],
)
def test_invalid_rules_are_rejected(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "redact.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        Redactor.of(str(tmp_path / "redact.yaml"))
