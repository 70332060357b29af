"""The facet `lineage`: how a job states that it computes a column itself."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.events import Legacy, parse_entries

_COUNT = {"type": "DIRECT", "subtype": "AGGREGATION", "description": "count of rows"}
_NOW = {"type": "INDIRECT", "description": "time of the run"}


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ([{"type": "JOB", "transformations": [_COUNT, _NOW]}],
         Legacy("AGGREGATION", "count of rows")),
        ([{"type": "JOB"}, {"type": "JOB", "transformations": [_NOW]}],
         Legacy("INDIRECT", "time of the run")),
        ([{"type": "JOB", "namespace": "n", "name": "other", "transformations": [_COUNT]}],
         Legacy()),
        ([{"type": "DATASET", "transformations": [_COUNT]}], Legacy()),
    ],
)  # fmt: skip
def test_job_without_a_name_states_how_it_computes_a_column(
    inputs: list[dict[str, Any]], expected: Legacy
) -> None:
    fields = {"n": {"inputs": inputs}}
    target = {"type": "DATASET", "namespace": "db", "name": "t", "fields": fields}
    (entry,) = parse_entries({"entries": [target]})
    assert entry.columns.columns == {"n": expected}
