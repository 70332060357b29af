"""Secrets are masked everywhere; texts that only look like them stay unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headwater.collect.lines import sort_lines
from headwater.log import EventLog
from headwater.redaction import is_suspicious, redact, redact_text
from headwater_client.masking.spans import WINDOW

from . import secret_forms as forms

SECRETS = st.from_regex(r"[A-Za-z][A-Za-z0-9_~+/-]{6,20}[0-9][A-Za-z0-9]{2,8}", fullmatch=True)


def _with(form: Any, secret: str) -> Any:
    return orjson.loads(orjson.dumps(form).replace("§".encode(), orjson.dumps(secret)[1:-1]))


def test_corpus_is_large_enough() -> None:
    assert len(forms.TEXTS) + len(forms.TOKENS) + len(forms.OBJECTS) >= 100
    assert len(forms.HARMLESS_TEXTS) + len(forms.HARMLESS_OBJECTS) >= 60


@pytest.mark.parametrize("form", forms.TEXTS)
def test_secret_in_text_is_masked(form: str) -> None:
    assert "§" in form
    clean = redact_text(form.replace("§", forms.SECRET))
    assert forms.SECRET not in clean
    assert "***" in clean
    assert redact_text(clean) == clean


@pytest.mark.parametrize("form", forms.TEXTS)
def test_secret_between_two_windows_of_a_long_text_is_masked(form: str) -> None:
    text = form.replace("§", forms.SECRET)
    padding = "x y\n" * (WINDOW // 4)
    for cut in (form.index("§"), form.index("§") + len(forms.SECRET) // 2):
        begin = padding[: WINDOW - cut - 1] + "\n"
        clean = redact_text(f"{begin}{text}\n{padding}")
        assert clean.startswith(begin)
        assert forms.SECRET not in clean


@pytest.mark.parametrize("token", forms.TOKENS)
@pytest.mark.parametrize("form", ["{}", "use {} for it", "x: {}\ny", "f('{}')", "a={},"])
def test_token_is_masked_anywhere(form: str, token: str) -> None:
    clean = redact_text(form.format(token))
    assert token not in clean
    assert token[-12:] not in clean


@pytest.mark.parametrize("form", forms.OBJECTS, ids=str)
def test_everything_below_a_secret_key_is_masked(form: Any) -> None:
    clean = orjson.dumps(redact(_with(form, forms.SECRET))).decode()
    assert forms.SECRET not in clean
    assert "***" in clean


@pytest.mark.parametrize("text", forms.HARMLESS_TEXTS)
def test_harmless_text_is_unchanged(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize("value", forms.HARMLESS_OBJECTS, ids=str)
def test_harmless_object_is_unchanged(value: Any) -> None:
    assert redact(value) is value


@pytest.mark.parametrize("form", [*forms.TEXTS, *forms.TOKENS, *forms.OBJECTS], ids=str)
def test_raw_event_with_a_secret_is_suspicious(form: Any) -> None:
    assert is_suspicious(orjson.dumps({"x": _with(form, forms.SECRET)}))


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
    assert redact_text("amqp://guest:p@x/y9@mq:5672//") == "amqp://guest:***@mq:5672//"
    for unchanged in ("https://h:8080/a@b:80", "s3://bucket/a@b:80"):
        assert redact_text(unchanged) == unchanged


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
    lines = sort_lines([("spool", raw)])
    assert lines.entries or lines.rejected_lines
    log.append(lines.entries, (), lines.rejected_lines)


@pytest.mark.parametrize("form", forms.TEXTS)
def test_secret_in_a_cut_line_is_masked(stored: EventLog, form: str) -> None:
    raw = orjson.dumps(_placed("run/facets/x/y", form.replace("§", forms.SECRET)))
    end = raw.index(forms.SECRET.encode()) + len(forms.SECRET)
    rejected_lines = sort_lines([("spool", raw[:end])]).rejected_lines
    assert len(rejected_lines) == 1
    assert forms.SECRET not in rejected_lines[0].line + rejected_lines[0].reason
