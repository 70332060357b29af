"""The statement on personal data in the provenance of a dataset."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.events.facets import Tag
from headwater.graph.column_graph import Column
from headwater.identity import DatasetName
from headwater.lineage.tags import ColumnTag
from headwater.plugins.provenance._personal import personal_data
from headwater.plugins.provenance.printing import print_provenance
from headwater.plugins.provenance.queries import provenance_answer
from packages.headwater.tests.support.columns import IDENTITY, MASKED, makes, tagged

_MAIL = ("pii", "true", "mail")
_PASSED = {"who": [("mail", IDENTITY)]}
_HIDDEN = {"who": [("mail", MASKED)]}


@pytest.mark.parametrize(
    ("state", "columns", "dataset", "tags", "fields"),
    [
        ("contained", ["raw.mail"], "raw", [_MAIL], _PASSED),
        ("contained", ["day"], "day", [("pii", "true")], _HIDDEN),
        ("contained", ["day.who"], "day", [("PII", "high", "who")], _HIDDEN),
        ("possible", ["raw.mail"], "raw", [_MAIL], None),
        ("excluded", ["raw.mail"], "raw", [_MAIL], _HIDDEN),
        ("untagged", [], "raw", [("tier", "gold")], _PASSED),
        ("untagged", [], "raw", [("pii", "false", "mail")], _PASSED),
        ("unknown", [], "elsewhere", [_MAIL], _PASSED),
    ],
)
def test_personal_data_is_decided_by_tags_and_column_lineage(
    state: str, columns: list[str], dataset: str, tags: Any, fields: Any, build: Any
) -> None:
    events = tagged(build, f"db|{dataset}", *tags), makes(build, "08", "raw", "day", fields)
    found = provenance_answer(build.state(*events), "dataset:db:day")["personalData"]
    assert (found["state"], found["columns"]) == (state, columns)


def test_other_outputs_of_an_upstream_run_do_not_count(build: Any) -> None:
    stage = build.run(
        "COMPLETE", "1", "stage", "07:00:00", reads=("db|in",), writes=("db|raw", "db|rejected")
    )
    events = stage, tagged(build, "db|rejected", _MAIL), makes(build, "08", "raw", "day", _PASSED)
    found = provenance_answer(build.state(*events), "dataset:db:day")
    assert "rejected" in {tag["name"] for tag in found["tags"]}
    assert found["personalData"]["state"] == "untagged"


def test_deleted_sources_may_have_had_tags() -> None:
    day = DatasetName("db", "day")
    tag = ColumnTag(Column(day, ""), Tag("tier", "gold", "", ""), Column(day, ""))
    assert personal_data(day, [], [tag], False)["state"] == "untagged"
    found = personal_data(day, [], [tag], True)
    assert (found["state"], "sources were deleted" in found["message"]) == ("unknown", True)


def test_command_prints_the_statement(build: Any, capsys: pytest.CaptureFixture[str]) -> None:
    events = tagged(build, "db|raw", _MAIL), makes(build, "08", "raw", "day", _PASSED)
    print_provenance(provenance_answer(build.state(*events), "dataset:db:day"))
    assert "Personal data: Contains PII" in capsys.readouterr().out
