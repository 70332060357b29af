"""Tags are inherited along column edges, with their origin."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import orjson

from headwater.lineage.queries import columns_answer
from headwater.plugins.impact.queries import impact_answer
from headwater.plugins.tags.queries import tagged_answer, tags_answer
from packages.headwater.tests.conftest import Call
from packages.headwater.tests.support.columns import FILTER, IDENTITY, MASKED, makes, tagged


def _texts(answer: list[dict[str, Any]]) -> set[str]:
    def column(node: dict[str, Any]) -> str:
        return f"{node['name']}.{node['field']}" if node["field"] else str(node["name"])

    return {f"{column(item)} {item['key']} < {column(item['from'])}" for item in answer}


_PII = (("pii", "true", "email"), ("tier", "gold", "email"))


def test_tag_is_inherited_downstream_with_its_origin(build: Any) -> None:
    state = build.state(
        tagged(build, "db|raw", *_PII),
        makes(build, "08", "raw", "day", {"mail": [("email", IDENTITY)],
                                          "rides": [("id", IDENTITY), ("email", FILTER)]}),
        makes(build, "09", "day", "top", {"who": [("mail", IDENTITY)],
                                          "rides": [("rides", IDENTITY)]}),
    )  # fmt: skip
    assert _texts(tags_answer(state, "top")["items"]) == {
        "top.who pii < raw.email", "top.who tier < raw.email",
    }  # fmt: skip
    assert _texts(tags_answer(state, key="PII")["items"]) == {
        "raw.email pii < raw.email", "day.mail pii < raw.email", "top.who pii < raw.email",
    }  # fmt: skip


def test_masking_stops_only_pii_tags(build: Any) -> None:
    state = build.state(
        tagged(build, "db|raw", *_PII),
        makes(build, "08", "raw", "day", {"mail": [("email", MASKED)]}),
        makes(build, "09", "day", "top", {"who": [("mail", IDENTITY)]}),
    )
    assert _texts(tags_answer(state, "top")["items"]) == {"top.who tier < raw.email"}
    both = makes(build, "08", "raw", "day", {"mail": [("email", [MASKED, IDENTITY])]})
    state = build.state(tagged(build, "db|raw", *_PII), both)
    assert _texts(tags_answer(state, "day")["items"]) == {
        "day.mail pii < raw.email", "day.mail tier < raw.email",
    }  # fmt: skip


def test_masking_is_read_from_the_legacy_facet(build: Any) -> None:
    run = makes(build, "08", "raw", "day", {"mail": [("email", [])]})
    state = build.state(tagged(build, "db|raw", *_PII), run)
    assert "day.mail pii < raw.email" in _texts(tags_answer(state, "day")["items"])
    result = run["outputs"][0]["facets"]["columnLineage"]["fields"]["mail"]
    result["transformationType"] = "MASKED"
    state = build.state(tagged(build, "db|raw", *_PII), run)
    assert _texts(tags_answer(state, "day")["items"]) == {"day.mail tier < raw.email"}


def test_dataset_tag_applies_to_all_columns(build: Any) -> None:
    state = build.state(
        tagged(build, "db|raw", ("pii", "true")),
        makes(build, "08", "raw", "day", {"x": [("a", IDENTITY)], "y": [("b", MASKED)]}),
    )
    assert _texts(tags_answer(state, "day")["items"]) == {"day.x pii < raw"}


def test_output_without_column_lineage_inherits_all_input_tags(build: Any) -> None:
    state = build.state(
        tagged(build, "db|raw", *_PII),
        makes(build, "08", "raw", "day", {"mail": [("email", IDENTITY)]}),
        makes(build, "09", "day", "model", None),
    )
    assert _texts(tags_answer(state, "model", "pii")["items"]) == {"model pii < raw.email"}
    masked = makes(build, "08", "raw", "day", {"mail": [("email", MASKED)]})
    state = build.state(
        tagged(build, "db|raw", *_PII), masked, makes(build, "09", "day", "model", None)
    )
    assert tags_answer(state, "model", "pii")["items"] == []


def test_false_pii_tags_and_invalid_facets_are_ignored(build: Any) -> None:
    odd = {"eventTime": "2025-11-21T06:00:00Z", "dataset": build.dataset("db|x", tags={"tags": 1})}
    masked = makes(build, "08", "raw", "day", {"mail": [("email", MASKED)]})
    state = build.state(tagged(build, "db|raw", ("pii", "false", "email")), odd, masked)
    assert _texts(tags_answer(state, "day")["items"]) == {"day.mail pii < raw.email"}


def test_tags_of_cyclic_columns_do_not_depend_on_order(build: Any) -> None:
    events = [
        tagged(build, "db|raw", *_PII),
        makes(build, "08", "raw", "day", {"mail": [("email", IDENTITY)]}),
        makes(build, "09", "day", "raw", {"email": [("mail", IDENTITY)]}),
    ]
    expected = tags_answer(build.state(*events))["items"]
    assert _texts(expected) >= {"day.mail pii < raw.email"}
    for order in permutations(events):
        assert tags_answer(build.state(*order, order[0]))["items"] == expected


def test_columns_and_impact_include_tags(build: Any) -> None:
    state = build.state(
        tagged(build, "db|raw", *_PII),
        tagged(build, "db|day", ("tier", "gold")),
        makes(build, "08", "raw", "day", {"mail": [("email", IDENTITY)], "n": [("id", IDENTITY)]}),
        makes(build, "09", "day", "top", None),
    )

    def tags_of(leaf: dict[str, Any]) -> list[tuple[Any, ...]]:
        return [
            (tag["field"], tag["key"], tag["value"], tag["from"]["name"], tag["from"]["field"])
            for tag in leaf["tags"]
        ]

    top = columns_answer(state, "day")["up"]
    mail, n = top["children"]
    pii = ("mail", "pii", "true", "raw", "email")
    tier = ("mail", "tier", "gold", "day", None)
    assert tags_of(mail) == [pii, tier, ("mail", "tier", "gold", "raw", "email")]
    assert tags_of(n) == [("n", "tier", "gold", "day", None)]
    assert set(tags_of(top)) == {(None, "tier", "gold", "day", None), *tags_of(mail), *tags_of(n)}
    assert tags_of(mail["children"][0])[0] == ("email", "pii", "true", "raw", "email")
    (leaf,) = columns_answer(state, "raw", "email", "down")["down"]["children"][0]["children"]
    assert tags_of(leaf) == tags_of(mail)

    results = {item["name"]: item for item in impact_answer(state, "raw")["affected"]}
    assert tags_of(results["day"]) == tags_of(top)
    assert (None, "pii", "true", "raw", "email") in tags_of(results["top"])
    assert tags_of(results["make_day"]) == []
    (column,) = impact_answer(state, "raw", "email")["affected"]
    assert (column["type"], tags_of(column)) == ("column", tags_of(mail))


def test_tags_command_prints_tags_and_origins(build: Any, tmp_path: Path, call: Call) -> None:
    events = [
        tagged(build, "db|raw", *_PII),
        makes(build, "08", "raw", "day", {"mail": [("email", IDENTITY)]}),
    ]
    (tmp_path / "e.json").write_bytes(orjson.dumps(events))
    where = ("--database", str(tmp_path / "log.db"))
    call("ingest", str(tmp_path / "e.json"), *where)
    lines = call("columns", "day", *where).stdout.splitlines()
    assert lines[1].endswith("day.mail  #pii from raw.email  #tier:gold from raw.email")
    assert lines[2].endswith("  by make_day  #pii  #tier:gold")
    assert call("impact", "raw", *where).stdout.splitlines()[-1].endswith("(db)  #pii  #tier:gold")


def _columns(answer: dict[str, Any]) -> dict[str, str]:
    """Return the status and the path of each column of an answer."""
    return {
        f"{item['name']}.{column['field'] or '*'}": " ".join(
            (column["status"], *(f"{p['name']}.{p['field'] or '*'}" for p in column["path"]))
        )
        for item in answer["items"]
        for column in item["columns"]
    }


def test_tagged_columns_have_a_status_and_a_path(build: Any) -> None:
    whole = tagged(build, "db|whole", ("pii", "true"))
    whole["dataset"]["facets"]["schema"] = {"fields": [{"name": "a"}, {"name": "b"}]}
    events = [
        whole,
        tagged(build, "db|raw", *_PII, ("pii", "false", "id")),
        makes(build, "08", "raw", "day", {"mail": [("email", IDENTITY)], "id": [("id", IDENTITY)],
                                          "hash": [("email", MASKED)], "n": [("email", FILTER)],
                                          "both": [("email", [MASKED, IDENTITY])]}),
        makes(build, "09", "day", "top", {"who": [("mail", IDENTITY)],
                                          "key": [("hash", IDENTITY)]}),
        makes(build, "10", "day", "model", None),
        makes(build, "11", "model", "scores", {"score": [("weight", IDENTITY)]}),
        makes(build, "12", "whole", "copy", {"a": [("a", IDENTITY)]}),
    ]  # fmt: skip
    state = build.state(*events)
    expected = {
        "copy.a": "derived whole.* whole.a copy.a",
        "day.both": "derived raw.email day.both",
        "day.hash": "masked raw.email day.hash",
        "day.mail": "derived raw.email day.mail",
        "model.*": "possible raw.email day.both model.*",
        "raw.email": "tagged raw.email",
        "scores.score": "possible raw.email day.both model.* model.weight scores.score",
        "top.who": "derived raw.email day.mail top.who",
        "whole.a": "tagged whole.* whole.a",
        "whole.b": "tagged whole.* whole.b",
    }
    answer = tagged_answer(state, "PII")
    assert _columns(answer) == expected
    assert answer["counts"] == {"tagged": 3, "derived": 4, "possible": 2, "masked": 1}
    masked = tagged_answer(state, "pii", "masked")
    assert (list(_columns(masked)), masked["total"]) == (["day.hash"], 1)
    assert masked["counts"] == answer["counts"]
    gold = tagged_answer(state, "tier:gold")
    assert _columns(gold)["top.key"] == "derived raw.email day.hash top.key"
    paged = [tagged_answer(state, "pii", limit=1)]
    while paged[-1]["next"]:
        paged.append(tagged_answer(state, "pii", limit=1, cursor=paged[-1]["next"]))
    assert {name: text for page in paged for name, text in _columns(page).items()} == expected
    assert tagged_answer(state, "nothing")["items"] == []
    inherited = {name for name, text in expected.items() if text.startswith(("der", "pos"))}
    others = {f"{t['name']}.{t['field'] or '*'}" for t in tags_answer(state, key="pii")["items"]}
    assert inherited <= others


def test_output_without_column_lineage_possibly_inherits_all_tags(build: Any) -> None:
    """Another output of the same run has column lineage."""
    run = makes(build, "08", "raw", "day", {"mail": [("email", IDENTITY)]})
    run["outputs"].append(build.dataset("db|copy"))
    state = build.state(tagged(build, "db|raw", *_PII), run)
    assert _texts(tags_answer(state, "copy")["items"]) == {
        "copy pii < raw.email", "copy tier < raw.email",
    }  # fmt: skip
