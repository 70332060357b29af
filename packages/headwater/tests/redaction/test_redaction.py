"""Secrets are masked everywhere; texts that only look like them stay unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headwater.collect.lines import sort_lines
from headwater.collect.spool import SpoolTail
from headwater.health.findings import finding
from headwater.log import EventLog, RejectedLine
from headwater.plugins.alerts._store import Alerts
from headwater.plugins.delivery._store import Deliveries
from headwater.projection.live import Live
from headwater.redaction import DEFAULT
from headwater.server._bodies import SMALL
from headwater.server.app import make_app
from headwater.settings import resolve
from headwater_client.masking.spans import WINDOW
from packages.headwater.tests.conftest import Build
from packages.headwater.tests.support import secret_forms as forms

SECRETS = st.from_regex(r"[A-Za-z][A-Za-z0-9_~+/-]{6,20}[0-9][A-Za-z0-9]{2,8}", fullmatch=True)


def _with(form: Any, secret: str) -> Any:
    return orjson.loads(orjson.dumps(form).replace("§".encode(), orjson.dumps(secret)[1:-1]))


def test_corpus_is_large_enough() -> None:
    assert len(forms.TEXTS) + len(forms.TOKENS) + len(forms.OBJECTS) >= 100
    assert len(forms.HARMLESS_TEXTS) + len(forms.HARMLESS_OBJECTS) >= 60


@pytest.mark.parametrize("form", forms.TEXTS)
def test_secret_in_text_is_masked(form: str) -> None:
    assert "§" in form
    clean = DEFAULT.redact_text(form.replace("§", forms.SECRET))
    assert forms.SECRET not in clean
    assert "***" in clean
    assert DEFAULT.redact_text(clean) == clean


# A fifth of the forms: the windows of a text do not depend on the form.
@pytest.mark.replay
@pytest.mark.parametrize("form", forms.TEXTS[::5])
def test_secret_between_two_windows_of_a_long_text_is_masked(form: str) -> None:
    text = form.replace("§", forms.SECRET)
    padding = "x y\n" * (WINDOW // 4)
    for cut in (form.index("§"), form.index("§") + len(forms.SECRET) // 2):
        begin = padding[: WINDOW - cut - 1] + "\n"
        clean = DEFAULT.redact_text(f"{begin}{text}\nx y\n")
        assert clean.startswith(begin)
        assert forms.SECRET not in clean


@pytest.mark.parametrize("token", forms.TOKENS)
def test_token_is_masked_anywhere(token: str) -> None:
    for form in ("{}", "use {} for it", "x: {}\ny", "f('{}')", "a={},"):
        clean = DEFAULT.redact_text(form.format(token))
        assert token not in clean, form
        assert token[-12:] not in clean, form


@pytest.mark.parametrize("form", forms.OBJECTS, ids=str)
def test_everything_below_a_secret_key_is_masked(form: Any) -> None:
    clean = orjson.dumps(DEFAULT.redact(_with(form, forms.SECRET))).decode()
    assert forms.SECRET not in clean
    assert "***" in clean


def test_harmless_text_is_unchanged() -> None:
    assert [DEFAULT.redact_text(text) for text in forms.HARMLESS_TEXTS] == [*forms.HARMLESS_TEXTS]


@pytest.mark.parametrize("value", forms.HARMLESS_OBJECTS, ids=str)
def test_harmless_object_is_unchanged(value: Any) -> None:
    assert DEFAULT.redact(value) is value


def test_raw_event_with_a_secret_is_suspicious() -> None:
    assert [
        form
        for form in (*forms.TEXTS, *forms.TOKENS, *forms.OBJECTS)
        if not DEFAULT.is_suspicious(orjson.dumps({"x": _with(form, forms.SECRET)}))
    ] == []


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventLog]:
    """Yield a log in a file, so that tests can search its bytes for secrets."""
    log = EventLog(str(tmp_path_factory.mktemp("stored") / "log.db"))
    yield log
    log.close()


def _bytes_of(log: EventLog) -> bytes:
    path = Path(log.shown_url.removeprefix("sqlite:///"))
    files = sorted(path.parent.glob(f"{path.name}*"))
    assert files
    return b"".join(file.read_bytes() for file in files)


def _event() -> dict[str, Any]:
    return {
        "eventType": "FAIL",
        "eventTime": "2025-11-21T08:00:00Z",
        "producer": "https://example.org/tests",
        "run": {"runId": "r", "facets": {}},
        "job": {"namespace": "n", "name": "j", "facets": {}},
        "inputs": [{"namespace": "n", "name": "i", "facets": {}}],
        "outputs": [],
    }


def _placed(place: str, value: Any) -> dict[str, Any]:
    """Return an event with a value at a dotted path; `-` is an item of a list."""
    event = _event()
    *path, last = place.split("/")
    target: Any = event
    for key in path:
        target = target[0] if key == "-" else target.setdefault(key, {})
    target[last] = [value] if last.endswith("s") else value
    return event


PLACES = (
    "producer",
    "run/facets/x/y",
    "run/facets/spark_properties/properties",
    "run/facets/errorMessage/message",
    "run/facets/errorMessage/stackTrace",
    "job/namespace",
    "job/name",
    "job/facets/sql/query",
    "job/facets/sourceCode/sourceCode",
    "job/facets/documentation/description",
    "inputs/-/namespace",
    "inputs/-/name",
    "inputs/-/facets/documentation/description",
    "eventType",
    "x",
)
TEXT_FORMS = st.one_of(
    st.tuples(st.sampled_from(forms.TEXTS), SECRETS),
    st.tuples(st.just("a § b"), st.sampled_from(forms.TOKENS)),
)


def test_password_with_slash_and_at_sign_is_masked() -> None:
    assert DEFAULT.redact_text("amqp://guest:p@x/y9@mq:5672//") == "amqp://guest:***@mq:5672//"
    for unchanged in ("https://h:8080/a@b:80", "s3://bucket/a@b:80"):
        assert DEFAULT.redact_text(unchanged) == unchanged


@pytest.mark.replay
@settings(max_examples=150)
@given(
    form=TEXT_FORMS,
    place=st.sampled_from(PLACES),
    way=st.sampled_from(["event", "repeat", "reject", "array", "escape"]),
)
def test_secret_never_reaches_the_file(
    stored: EventLog, form: tuple[str, str], place: str, way: str
) -> None:
    text, secret = form[0].replace("§", form[1]), form[1]
    # A token with a slash in the place of a user cannot be told from a host with a path.
    assume("https://§@" not in form[0] or "/" not in secret)
    _store(stored, orjson.dumps(_placed(place, text)), way)
    assert secret.encode() not in _bytes_of(stored)


@pytest.mark.replay
@settings(max_examples=100)
@given(
    form=st.sampled_from(forms.OBJECTS),
    secret=SECRETS,
    place=st.sampled_from([item for item in PLACES if "facets" in item]),
    way=st.sampled_from(["event", "repeat", "reject", "array", "escape"]),
)
def test_object_below_a_secret_key_never_reaches_the_file(
    stored: EventLog, form: Any, secret: str, place: str, way: str
) -> None:
    _store(stored, orjson.dumps(_placed(place, _with(form, secret))), way)
    assert secret.encode() not in _bytes_of(stored)


def _store(log: EventLog, raw: bytes, way: str) -> None:
    """Store an event unchanged, or in a form that is handled differently."""
    if way == "repeat":  # the first of two values, which the decoded form drops
        raw = b'{"run":' + raw + b"," + orjson.dumps(_event())[1:]
    if way == "reject":
        raw = raw.replace(b'"eventTime"', b'"eventTimes"')
    if way == "array":
        raw = b"[" + raw + b', {"eventTime": 1}]'
    if way == "escape":
        raw = raw.replace(b"a", b"\\u0061").replace(b"s", b"\\u0073").replace(b"/", b"\\/")
    lines = sort_lines([("spool", raw)], DEFAULT)
    assert lines.entries or lines.rejected_lines
    log.append(lines.entries, (), lines.rejected_lines)


@pytest.mark.parametrize("form", forms.TEXTS)
def test_secret_in_a_cut_line_is_masked(stored: EventLog, form: str) -> None:
    raw = orjson.dumps(_placed("run/facets/x/y", form.replace("§", forms.SECRET)))
    end = raw.index(forms.SECRET.encode()) + len(forms.SECRET)
    rejected_lines = sort_lines([("spool", raw[:end])], DEFAULT).rejected_lines
    assert len(rejected_lines) == 1
    assert forms.SECRET not in rejected_lines[0].line + rejected_lines[0].reason


def _store_everywhere(live: Live, spool: Path) -> None:
    """Store numbered secrets at each place where an application stores texts."""

    def text(number: int) -> str:
        return f"of ward-is-{number} password=hunter2Xq{number} "

    def event(number: int) -> dict[str, Any]:
        facet = {"note": text(number)}
        return Build.run("FAIL", f"r{number}", "j", "08:00:00", facets={"x": facet})

    with TestClient(make_app(live)) as client:
        assert client.post("/api/v1/lineage", json=event(1)).status_code == 201
        assert client.post("/api/v1/lineage", json=[event(2)]).status_code == 201
        large = [event(3), *({**event(0), "producer": "x" * SMALL} for _ in range(2))]
        assert client.post("/api/v1/lineage/batch", json=large).status_code == 200
        job = "job:" + Build.run("FAIL", "r", "j", "08:00:00")["job"]["namespace"] + ":j"
        state = {"subject": job, "kind": "failed", "state": "muted", "note": text(4)}
        assert client.post("/api/v2/findings", json=state).status_code == 201
    (spool / "a.jsonl").write_bytes(
        orjson.dumps(event(5))
        + b"\n"
        + orjson.dumps(event(6)).replace(b"eventTime", b"wrong")
        + b"\n"
        + orjson.dumps(event(7))[:-1]
        + b"\n"
    )
    SpoolTail(live, spool).poll()
    Deliveries(live.log, "b").cursor()
    Deliveries(live.log, "b").fail(text(8))
    Deliveries(live.log, "b").advance(1, text(9))
    live.log.append([], (), [RejectedLine("s", text(10), "")])
    Alerts(live.log).fire("r", {"c": finding("failed", "job:a:b", text(11), "")}, ())


def test_applications_in_one_process_have_their_own_rules(tmp_path: Path) -> None:
    (tmp_path / "redact.yaml").write_text("patterns: ['ward-is-[0-9]+']\n")
    rules = {"default": "", "off": "off", "more": str(tmp_path / "redact.yaml")}
    lives = {
        name: Live(EventLog.of(resolve({"database": str(tmp_path / f"{name}.db"), "redact": rule})))
        for name, rule in rules.items()
    }
    expected = {"default": {"ward-is-"}, "off": {"ward-is-", "password=hunter2Xq"}, "more": set()}
    for name, live in lives.items():
        (tmp_path / name).mkdir()
        _store_everywhere(live, tmp_path / name)
    for name, live in lives.items():
        content = _bytes_of(live.log).decode(errors="replace")
        live.log.close()
        for text in ("ward-is-", "password=hunter2Xq"):
            places = {int(number) for number in re.findall(rf"{text}(\d+)", content)}
            assert places == (set(range(12)) if text in expected[name] else set()), (name, text)
