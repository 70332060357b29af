"""`export --format html`: the page as one file."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

from headwater.plugins.export import _file
from packages.headwater.tests.conftest import Call


@pytest.fixture
def database(tmp_path: Path, build: Any, call: Call, monkeypatch: pytest.MonkeyPatch) -> str:
    """A log with two unconnected pipelines; the page's assets are stand-ins."""
    built = tmp_path / "built"
    built.mkdir()
    for name in ("index-1.js", "elk-worker-1.js", "style-1.css"):
        (built / name).write_text(f"/* {name} */")
    monkeypatch.setattr(_file, "_BUILT", built)
    events = [
        build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|in",), writes=("db|raw",)),
        build.run("COMPLETE", "2", "other", "08:00:00", reads=("db|x",), writes=("db|</script>",)),
    ]
    events[0]["outputs"][0]["facets"] = {"schema": {"fields": [{"name": "id", "type": "int"}]}}
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(map(orjson.dumps, events)))
    call("ingest", str(tmp_path / "events.jsonl"), "--database", str(tmp_path / "log.db"))
    return str(tmp_path / "log.db")


def _content(page: str) -> Any:
    parts = dict(re.findall(r'<script type="text/plain" id="(\w+)">([^<]*)</script>', page))
    texts = {name: gzip.decompress(base64.b64decode(text)) for name, text in parts.items()}
    assert texts["code"] == b"/* index-1.js */"
    assert texts["worker"] == b"/* elk-worker-1.js */"
    return orjson.loads(texts["content"])


def test_file_of_a_node_has_its_lineage_only(database: str, call: Call) -> None:
    page = call("export", "raw", "--format", "html", "--database", database).stdout
    content = _content(page)
    nodes = {key for key in content["answers"] if key.startswith("node[")}
    assert nodes == {
        'node[["node","dataset:db:in"]]',
        'node[["node","dataset:db:raw"]]',
        'node[["node","job:demo:load"]]',
    }
    assert content["start"] == "/lineage?node=dataset%3Adb%3Araw"
    graph = content["answers"]['graph[["level","task"],["node","dataset:db:raw"]]']
    shown = [content["pool"][place]["id"] for place in graph["nodes"]["pool"]]
    assert set(shown) == {"dataset:db:in", "dataset:db:raw", "job:demo:load"}
    assert 'column[["field","id"],["node","dataset:db:raw"]]' in content["answers"]
    assert "health[]" not in content["answers"]
    found = {(hit["id"], hit["matched"]) for hit in content["answers"]["search"]}
    assert {("dataset:db:raw", "name"), ("dataset:db:raw", "column")} <= found
    assert not any("other" in id_ for id_, _ in found)


def test_file_of_all_nodes_has_lists_and_escapes_names(database: str, call: Call) -> None:
    page = call("export", "--all", "--format", "html", "--database", database).stdout
    content = _content(page)
    assert content["start"] == "/"
    assert 'node[["node","dataset:db:</script>"]]' in content["answers"]
    assert 'datasets[["reverse","false"],["sort","name"]]' in content["answers"]
    assert {"health[]", 'runs[["roots","true"]]'} <= content["answers"].keys()
    titled = call("export", "dataset:db:</script>", "--format", "html", "--database", database)
    assert "dataset:db:&lt;/script&gt;" in titled.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "html"), "--format html: received neither, expected a NODE or --all"),
        (("raw", "--all", "--format", "html"), "received the NODE 'raw' and --all, expected"),
        (("raw", "--format", "mermaid"), "the NODE 'raw' with --format mermaid, which exports all"),
        (
            ("--all",),
            "received --all with --format json, which exports all nodes: omit it, or pass",
        ),
    ],
)
def test_html_requires_one_node_or_all(
    arguments: tuple[str, ...], message: str, database: str, call: Call
) -> None:
    result = call("export", *arguments, "--database", database)
    assert (result.returncode, message in result.stderr) == (2, True)


def test_output_that_cannot_be_written_is_named(database: str, call: Call, tmp_path: Path) -> None:
    output = ("--output", str(tmp_path / "nowhere" / "x.html"))
    result = call("export", "raw", "--format", "html", "--database", database, *output)
    assert (result.returncode, "--output: cannot write" in result.stderr) == (2, True)


def test_page_that_is_not_built_is_named(database: str, call: Call, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "built")
    result = call("export", "raw", "--format", "html", "--database", database)
    assert (result.returncode, "the page is not built" in result.stderr) == (2, True)


def test_content_policy_allows_only_own_scripts_and_no_requests(database: str, call: Call) -> None:
    page = call("export", "raw", "--format", "html", "--database", database).stdout
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    policy = dict(part.strip().split(" ", 1) for part in found[1].split(";"))
    loader = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[0]
    scripts = (loader.encode(), b"/* index-1.js */")
    hashes = {base64.b64encode(hashlib.sha256(text).digest()).decode() for text in scripts}
    assert set(policy["script-src"].split()) == {f"'sha256-{text}'" for text in hashes}
    assert (policy["default-src"], policy["form-action"]) == ("'none'", "'none'")
    assert "connect-src" not in policy
    assert page.index("Security-Policy") < page.index("<script")
