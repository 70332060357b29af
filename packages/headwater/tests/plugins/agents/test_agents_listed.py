"""The tools for recalled versions, tags and the map: totals, and what is unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.errors import ConfigError
from headwater.plugins.agents.tools import call
from headwater.plugins.incidents._taints import taint_entry
from headwater.projection.live import Batch, Live
from headwater.redaction import DEFAULT
from packages.headwater.tests.support.columns import IDENTITY, MASKED, makes, tagged
from packages.headwater.tests.support.reports import versioned

from .mcp_client import ask_tool, context_of

_NOW = 1_763_755_200_000_000  # 2025-11-21T20:00:00Z
_MODEL, _RAW = "dataset:mf:model", "dataset:db:raw"


def _day(build: Any, day: int) -> list[Any]:
    load = build.run("COMPLETE", f"l{day}", "load", f"1{day}:00:00", reads=("web|file",),
                     writes=("db|raw",))  # fmt: skip
    train = build.run("COMPLETE", f"t{day}", "train", f"1{day}:20:00", reads=("db|raw",),
                      writes=("mf|model",))  # fmt: skip
    names = {"file": f"f{day}", "raw": f"v{day}", "model": f"m{day}"}
    return [versioned(event, **names) for event in (load, train)]


def _recall(live: Live, *versions: str) -> None:
    for version in versions:
        with live.reading() as state:
            entry = taint_entry(state, version, "fares in cents", _NOW, DEFAULT)
        live.ingest(Batch([entry]))


def _ingest(live: Live, build: Any, *events: Any) -> None:
    live.ingest(Batch([build.entry(event) for event in events]))


def test_recalls_of_a_node_end_when_it_is_written_again(live: Live, build: Any) -> None:
    _ingest(live, build, *_day(build, 1))
    _recall(live, "raw@v1")
    every, model = ask_tool(live, "recalls"), ask_tool(live, "recalls", node="model")
    assert every["status"] == model["status"] == "found"
    assert every["total"] == model["total"] == 1
    (version,) = model["versions"]
    assert (version["id"], version["version"]) == (_RAW, "v1")
    assert version["reason"] == "⟪fares in cents⟫"
    before = ask_tool(live, "recalls", node="model", as_of="2025-11-21T12:00:00Z")
    assert before["status"] == "none"
    _ingest(live, build, *_day(build, 2))
    again = ask_tool(live, "recalls", node="model")
    assert (again["status"], again["completeness"]) == ("none", {"isComplete": True})
    assert ask_tool(live, "recalls")["total"] == 1


def test_model_is_not_free_of_a_recalled_version_if_its_reads_are_unknown(
    live: Live, build: Any
) -> None:
    train = build.run("COMPLETE", "t1", "train", "09:00:00", reads=("db|raw",), writes=("mf|m",))
    other = build.run("COMPLETE", "t2", "other", "09:00:00", reads=("db|raw",), writes=("mf|n",))
    _ingest(live, build, train, versioned(other, raw="v1"))
    _recall(live, "raw@v1")
    assert ask_tool(live, "recalls", node="n")["status"] == "found"
    answer = ask_tool(live, "recalls", node="m")
    assert answer["status"] == "not_reported"
    assert not answer["completeness"]["isComplete"]


def test_recalls_are_counted_before_they_are_cut(live: Live, build: Any) -> None:
    for number in range(60):
        event = build.run("COMPLETE", f"r{number}", f"j{number}", "09:00:00",
                          writes=(f"db|t{number}",))  # fmt: skip
        _ingest(live, build, versioned(event, **{f"t{number}": "v"}))
    _recall(live, *(f"t{number}@v" for number in range(60)))
    answer = ask_tool(live, "recalls")
    assert answer["total"] == 60
    assert len(answer["versions"]) + answer.get("omitted", {}).get("versions", 0) == 50


def test_tags_lists_columns_with_their_status_and_source(live: Live, build: Any) -> None:
    _ingest(
        live,
        build,
        tagged(build, "db|raw", ("pii", "true", "email")),
        makes(build, "07", "raw", "clean", {"mail": [("email", IDENTITY)],
                                           "hash": [("email", MASKED)]}),
        makes(build, "08", "clean", "copy", None),
    )  # fmt: skip
    answer = ask_tool(live, "tags", tag="pii")
    columns = {
        (item["id"], column.get("column"), column["status"]): column.get("from")
        for item in answer["datasets"]
        for column in item["columns"]
    }
    assert columns == {
        (_RAW, "email", "tagged"): None,
        ("dataset:db:clean", "mail", "derived"): "dataset:db:raw#email",
        ("dataset:db:clean", "hash", "masked"): "dataset:db:raw#email",
        ("dataset:db:copy", None, "possible"): "dataset:db:raw#email",
    }
    assert answer["counts"] == {"tagged": 1, "derived": 1, "possible": 1, "masked": 1}
    own = ask_tool(live, "tags", node="clean")
    assert own["total"] == 1
    assert own["tags"] == [
        {"id": "dataset:db:clean", "column": "mail", "key": "pii", "value": "true"}
        | {"from": "dataset:db:raw#email"}
    ]
    before = ask_tool(live, "tags", tag="pii", as_of="2025-11-21T06:30:00Z")
    assert before["counts"]["derived"] == 0


def test_tags_of_many_columns_are_counted_before_they_are_cut(live: Live, build: Any) -> None:
    names = [f"t{number}" for number in range(200)]
    _ingest(live, build, *(tagged(build, f"db|{name}", ("pii", "true", "e")) for name in names))
    assert ask_tool(live, "tags", tag="pii")["total"] == 200
    assert ask_tool(live, "tags", tag="pii")["counts"]["tagged"] == 200
    assert ask_tool(live, "tags", node="t1")["total"] == 1
    every = ask_tool(live, "tags")
    assert (every["total"], every["tags"]) == (1, [{"value": "pii", "datasets": 200, "jobs": 0}])
    answer = ask_tool(live, "tags", tag="pii", status="masked")
    assert answer["status"] == "none"


def test_keys_of_the_map_open_groups(live: Live, build: Any) -> None:
    events = [
        build.run("COMPLETE", "r1", "load", "08:00:00", writes=("hive://lake|a b.orders",)),
        build.run("FAIL", "r2", "report", "09:00:00", reads=("hive://lake|a b.orders",),
                  writes=("hive://lake|a b.report",)),
    ]  # fmt: skip
    _ingest(live, build, *events)
    top = ask_tool(live, "map")
    assert (top["count"], top["problems"]) == (2, {"failed": 1})
    (platform,) = top["items"]
    schemas = ask_tool(live, "map", path=[platform["key"]])
    (schema,) = schemas["items"]
    assert schema["key"].startswith("⟪")
    answer = ask_tool(live, "map", path=[platform["key"], schema["key"]])
    assert [(item["key"].strip("⟪⟫"), item["state"]) for item in answer["items"]] == [
        ("dataset:hive://lake:a b.report", "failed"),
        ("dataset:hive://lake:a b.orders", "healthy"),
    ]
    assert answer["total"] == 2
    text = call("map", {"path": [platform["key"]]}, context_of(live, "http://server"))
    assert json.loads(text)["page"] == "http://server/map?by=platform&path=hive"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tag": "pii", "node": "raw"}, "node: received a tag as well"),
        ({"status": "derived"}, "status: received no tag"),
        ({"as_of": "2025-11-21T12:00:00Z"}, "as_of: received neither a tag nor a node"),
    ],
)
def test_arguments_of_tags_exclude_each_other(
    arguments: dict[str, str], message: str, live: Live
) -> None:
    with pytest.raises(ConfigError) as caught:
        call("tags", arguments, context_of(live))
    assert str(caught.value).startswith(message)
