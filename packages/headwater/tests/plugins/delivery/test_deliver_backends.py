"""The deliver file, and the backends that it configures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.errors import ConfigError, UnavailableError
from headwater.log import entry_of
from headwater.plugin import GROUP
from headwater.plugins.delivery import plugin
from headwater.plugins.delivery.backends import read_backends
from headwater.plugins.delivery.forwarder import Forwarder
from headwater.plugins.delivery.models import HttpSettings
from headwater.projection.live import Batch, Live
from packages.headwater.tests.support.sinks import Sink, serving

_DOCS = Path(__file__).resolve().parents[5] / "docs"


@pytest.fixture
def sink() -> Iterator[Sink]:
    with serving(Sink()) as sink:
        yield sink


def _fill(live: Live, build: Any, *runs: str) -> None:
    live.ingest(Batch([build.entry(build.run("COMPLETE", run, "j", "08:00:00")) for run in runs]))


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_backends_are_created_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sink: Sink, live: Live, build: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("SINK_KEY", "k3y")
    file = tmp_path / "deep" / "events.jsonl"
    path = _write(
        tmp_path / "deliver.yaml",
        f"""
backends:
  - {{name: marquez, type: http, url: "{sink.url}/", endpoint: /x/lineage, api_key_env: SINK_KEY}}
  - {{name: archive, type: file, path: "{file}"}}
  - {{name: out, type: console}}
""",
    )
    body = build.run("COMPLETE", "a", "j", "08:00:00")
    live.ingest(Batch([entry_of(orjson.dumps(body, option=orjson.OPT_INDENT_2))]))
    for name, backend in read_backends(path).items():
        forwarder = Forwarder(name, backend, live)
        assert forwarder.drain() == 1
        forwarder.stop()
    assert (sink.headers[0]["path"], sink.headers[0]["Authorization"]) == (
        "/x/lineage",
        "Bearer k3y",
    )
    assert orjson.loads(file.read_bytes()) == body
    assert file.read_bytes().count(b"\n") == 1
    assert orjson.loads(capsys.readouterr().out) == body


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "deliver.yaml, line 1, column 2: invalid YAML: expected the node content"),
        ("x: 1", "deliver.yaml: received x, allowed keys: backends"),
        ("", "deliver.yaml: received NoneType, allowed keys: backends"),
        ("backends: 3", "deliver.yaml: backends: received 3, expected a valid list"),
        ("backends: [{type: http}]", r"backends\[0\].name: received nothing, it is required"),
        ("backends: [{name: 'a b', type: http}]", r"\[0\].name: received 'a b', expected up to"),
        ("backends: [{name: a, type: fax}]", "received 'fax', expected one of console, datahub, "),
        ("backends: [{name: a, type: {}}]", r"\[0\].type: received {}, expected one of"),
        (
            "backends: [{name: a}]",
            r"\[0\].type: received nothing, expected one of console, datahub",
        ),
        ("backends: [a]", r"backends\[0\]: received str, allowed keys: name, type"),
        ("backends: [{name: a, type: http}]", r"\[0\].url: received nothing, it is required"),
        (
            "backends: [{name: a, type: http, url: 'http://x/api/v1/lineage'}]",
            r"\[0\].url: received 'http://x/api/v1/lineage', expected no path",
        ),
        ("backends: [{name: a, type: http, url: ftp://x}]", r"\[0\].url: received 'ftp://x'"),
        ("backends: [{name: a, type: http, url: 'http://u:hunter2@x'}]", r"a URL of x with a user"),
        (
            "backends: [{name: a, type: http, url: 'http://x', api_key: hunter2}]",
            r"received api_key, allowed keys: name, type, url, endpoint, api_key_env",
        ),
        (
            "backends: [{name: a, type: http, url: 'http://x', api_key_env: NO_SUCH}]",
            r"api_key_env: the variable 'NO_SUCH' is not set: set it to the API key",
        ),
        (
            "backends: [{name: a, type: console}, {name: a, type: console}]",
            r"backends\[1\].name: 'a' is already in use",
        ),
    ],
)
def test_invalid_deliver_file_is_explained(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_backends(_write(tmp_path / "deliver.yaml", text))
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"none\.yaml"):
        read_backends(tmp_path / "none.yaml")


def test_missing_package_of_datazone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [point for point in entry_points(group=GROUP) if point.name != "aws"]
    monkeypatch.setattr("headwater.plugin._installed", lambda path: own)
    file = _write(tmp_path / "deliver.yaml", "backends: [{name: a, type: datazone}]")
    hint = "datazone requires headwater-aws. In a clone, run: pip install './packages/"
    with pytest.raises(ConfigError, match=hint):
        read_backends(file)


def test_example_of_the_docs_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADQUARTERS_KEY", "k3y")
    page = (_DOCS / "how-to/deliver.md").read_text()
    text = page.split("# Alerts\n")[0]
    example = text.split("```yaml\n")[1].split("```")[0]
    backends = read_backends(_write(tmp_path / "deliver.yaml", example))
    assert list(backends) == ["marquez", "headquarters", "archive"]
    kinds = re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)
    assert sorted(kinds) == sorted(plugin.backends)
    for backend in backends.values():
        backend.close()


def test_config_never_shows_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SINK_KEY", "hunter2")
    config = HttpSettings(name="x", url="http://x", api_key_env="SINK_KEY")
    assert config.api_key == "hunter2"
    assert "hunter2" not in repr(config)


def test_incomplete_line_is_terminated_and_moved_file_recreated(
    tmp_path: Path, live: Live, build: Any
) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(b'{"cut')
    path = _write(tmp_path / "d.yaml", f"backends: [{{name: a, type: file, path: '{file}'}}]")
    forwarder = Forwarder("a", read_backends(path)["a"], live)
    _fill(live, build, "1", "2")
    assert forwarder.drain() == 2
    lines = file.read_bytes().splitlines()
    assert lines[0] == b'{"cut'
    assert [orjson.loads(line)["run"]["runId"] for line in lines[1:]] == ["1", "2"]
    file.rename(tmp_path / "old.jsonl")
    _fill(live, build, "3")
    forwarder.drain()
    assert orjson.loads(file.read_bytes())["run"]["runId"] == "3"


def test_unwritable_file_is_retried(tmp_path: Path, live: Live, build: Any) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    text = f"backends: [{{name: a, type: file, path: '{tmp_path}/blocked/e.jsonl'}}]"
    forwarder = Forwarder("a", read_backends(_write(tmp_path / "d.yaml", text))["a"], live)
    _fill(live, build, "1")
    with pytest.raises(UnavailableError, match="blocked"):
        forwarder.drain()
