"""The verdict on dropping a column that a check or a job of a dropped dataset uses."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.plugins.aliases._service import alias_entry
from headwater.plugins.impact.queries import impact_answer
from headwater.projection import State, project
from packages.headwater.tests.support.columns import FILTER, IDENTITY, derive
from packages.headwater.tests.support.reports import schema

_DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/dbt"


def _drop(state: State, field: str = "fare") -> tuple[str, list[str]]:
    drop = impact_answer(state, "raw", field)["drop"]
    return drop["verdict"], [reason["message"] for reason in drop["reasons"]]


def _load(build: Any) -> Any:
    event = build.run("COMPLETE", "l", "load", "07:00:00")
    return event | {"outputs": [build.dataset("db|raw", schema=schema(id="int", fare="int"))]}


def _uses_id(build: Any) -> Any:
    return derive(build, "u", "08", "sum", day__id=[("raw.id", IDENTITY)])


def _checked(build: Any, *assertions: Any, hour: str = "09", key: str = "inputs") -> Any:
    """Return a run that checks raw, and uses only its id for another table."""
    event = derive(build, f"c{hour}", hour, "check", kept__id=[("raw.id", IDENTITY)])
    reported = {"dataQualityAssertions": {"assertions": list(assertions)}}
    place = "inputFacets" if key == "inputs" else "facets"
    event[key] = [*event[key], {**build.dataset("db|raw"), place: reported}][-2:]
    return event


def _assertion(column: str | None = None, success: bool = True, **more: Any) -> dict[str, Any]:
    found = {"assertion": more.pop("assertion", "not_null"), "success": success, **more}
    return {**found, "column": column} if column else found


def test_column_that_a_check_names_is_not_safe_to_drop(build: Any) -> None:
    events = [_load(build), _uses_id(build)]
    assert _drop(build.state(*events))[0] == "safe"
    state = build.state(*events, _checked(build, _assertion("fare"), _assertion("id")))
    assert _drop(state) == (
        "unsafe",
        ["1 check names it, and fails without it: not_null of fare (check)."],
    )
    failed = build.state(*events, _checked(build, _assertion("fare", success=False)))
    assert _drop(failed)[0] == "unsafe"
    other = build.state(*events, _checked(build, _assertion("id"), _assertion("farewell")))
    assert _drop(other)[0] == "safe"


def test_check_of_a_dataset_event_or_of_an_output_uses_its_column(build: Any) -> None:
    reported = {"dataQualityAssertions": {"assertions": [_assertion("fare", assertion="max")]}}
    event = {"eventTime": "2025-11-21T10:00:00Z", "dataset": build.dataset("db|raw", **reported)}
    message = "1 check names it, and fails without it: max of fare."
    assert _drop(build.state(_load(build), _uses_id(build), event)) == ("unsafe", [message])
    load = _load(build)
    load["outputs"][0]["facets"] |= reported
    message = message.replace("fare.", "fare (load).")
    assert _drop(build.state(load, _uses_id(build))) == ("unsafe", [message])


@pytest.mark.parametrize(
    ("assertion", "verdict"),
    [
        (_assertion("FARE"), "unsafe"),
        (_assertion("fare.amount"), "unsafe"),
        (_assertion(None, assertion="compare", params={"columns": ["id", "fare"]}), "unsafe"),
        (_assertion(None, assertion="sql", condition="max(fare) < 100"), "unsafe"),
        (_assertion(None, assertion="sql", description="max(fare) < 100"), "unknown"),
        (_assertion(None, assertion="expect_table_columns_to_match_set"), "unknown"),
        (_assertion(None, assertion="expect_table_row_count_to_be_between"), "safe"),
        (_assertion("id", assertion="fare"), "safe"),
    ],
)
def test_check_without_the_column_is_unknown_unless_it_counts_rows(
    assertion: dict[str, Any], verdict: str, build: Any
) -> None:
    events = [_load(build), _uses_id(build), _checked(build, assertion)]
    assert _drop(build.state(*events))[0] == verdict


def test_check_that_differs_in_case_uses_the_column_that_is_spelled_like_it(build: Any) -> None:
    load = _load(build)
    load["outputs"][0]["facets"]["schema"] = schema(id="int", fare="int", FARE="int")
    state = build.state(load, _uses_id(build), _checked(build, _assertion("FARE")))
    assert _drop(state, "FARE")[0] == "unsafe"
    assert not any("check" in message for message in _drop(state, "fare")[1])


def test_check_of_a_whole_column_makes_its_parts_unknown(build: Any) -> None:
    load = _load(build)
    load["outputs"][0]["facets"]["schema"]["fields"].append(
        {"name": "addr", "type": "struct", "fields": [{"name": "city", "type": "string"}]}
    )
    state = build.state(load, _uses_id(build), _checked(build, _assertion("addr")))
    assert _drop(state, "addr.city")[0] == "unknown"


def test_check_that_its_job_no_longer_reports_uses_nothing(build: Any) -> None:
    events = [
        _load(build),
        _uses_id(build),
        _checked(build, _assertion("fare"), _assertion("id")),
        _checked(build, _assertion("id"), hour="11"),
    ]
    assert _drop(build.state(*events))[0] == "safe"


def _dropped(build: Any, name: str, hour: str = "12") -> Any:
    event = build.run("COMPLETE", f"d{name}", "cleanup", f"{hour}:00:00")
    facet = {"lifecycleStateChange": "DROP"}
    return event | {"outputs": [build.dataset(f"db|{name}", lifecycleStateChange=facet)]}


@pytest.mark.parametrize("how", [IDENTITY, FILTER])
def test_dropped_dataset_is_no_user_but_its_job_may_run_again(how: Any, build: Any) -> None:
    use = derive(build, "t", "10", "copy", temp__x=[("raw.fare", how)])
    further = derive(build, "f", "11", "further", more__y=[("temp.x", IDENTITY)])
    events = [_load(build), _uses_id(build), use]
    assert _drop(build.state(*events))[0] == "unsafe"
    message = (
        "1 job used it for a dataset that was dropped since, and fails without it if it runs"
        " again: copy (temp)."
    )
    assert _drop(build.state(*events, _dropped(build, "temp"))) == ("unknown", [message])
    both = build.state(*events, further, _dropped(build, "temp"), _dropped(build, "more"))
    assert _drop(both) == ("unknown", [message])
    verdict, messages = _drop(build.state(*events, further, _dropped(build, "more")))
    assert (verdict, any("dropped" in text for text in messages)) == ("unsafe", False)
    again = derive(build, "t2", "13", "copy", temp__x=[("raw.fare", how)])
    assert _drop(build.state(*events, _dropped(build, "temp"), again))[0] == "unsafe"


def test_dbt_test_of_a_column_is_named_until_its_job_runs_without_it(build: Any) -> None:
    def tested(hour: str, *names: str) -> Any:
        root = ("dbt" + hour, "dbt")
        event = build.run(
            "COMPLETE", f"t{hour}", "shop.raw.test", f"{hour}:00:00", parent=root, kind="DBT/TEST"
        )
        items = [_assertion(name, name=f"not_null_raw_{name}", producer=_DBT) for name in names]
        reported = {"dataQualityAssertions": {"assertions": items}}
        event["inputs"] = [{**build.dataset("db|raw"), "inputFacets": reported}]
        return event

    events = [_load(build), _uses_id(build), tested("09", "fare", "id", "zone")]
    message = "1 check names it, and fails without it: not_null_raw_fare of fare (shop.raw.test)."
    assert message in _drop(build.state(*events))[1]
    selected = build.state(*events, tested("10", "fare"))
    assert "not_null_raw_id of id" in " ".join(_drop(selected, "id")[1])
    assert message not in _drop(build.state(*events, tested("11", "id", "zone")))[1]


_ENDPOINT = "redshift://dw.abc123.eu-west-1.redshift.amazonaws.com:5439|dev.public.orders"


def _spelled(build: Any, read: str, *columns: str) -> tuple[Any, Any]:
    load = build.run("COMPLETE", "l", "load", "07:00:00")
    orders = "redshift://dw.eu-west-1:5439|dev.public.orders"
    load["outputs"] = [build.dataset(orders, schema=schema(id="int", amount="int"))]
    report = build.run("COMPLETE", "r", "report", "08:00:00", writes=("db|rep",))
    report["inputs"] = [build.dataset(read, schema=schema(**dict.fromkeys(columns, "int")))]
    return load, report


@pytest.mark.parametrize(
    ("read", "columns", "verdict"),
    [
        (_ENDPOINT, ("id", "amount"), "unknown"),
        (_ENDPOINT, ("id",), "safe"),
        ("redshift://other.us-east-1:5439|dev.public.customers", ("id", "amount"), "safe"),
        ("postgres://crm:5432|app.sales.orders", ("id", "amount", "x", "y", "z"), "safe"),
    ],
)
def test_dataset_that_is_likely_read_under_another_name_makes_the_verdict_unknown(
    read: str, columns: tuple[str, ...], verdict: str, build: Any
) -> None:
    state = build.state(*_spelled(build, read, *columns))
    node = "dataset:redshift://dw.eu-west-1:5439:dev.public.orders"
    drop = impact_answer(state, node, "amount")["drop"]
    assert drop["verdict"] == verdict
    if verdict == "unknown":
        assert "likely another name of this one" in drop["reasons"][0]["message"]
        assert _ENDPOINT.split("|")[0] in drop["reasons"][0]["message"]


def test_likely_name_that_a_user_separated_does_not_prevent_the_verdict(build: Any) -> None:
    events = [build.entry(event).event for event in _spelled(build, _ENDPOINT, "id", "amount")]
    node = "dataset:redshift://dw.eu-west-1:5439:dev.public.orders"
    other = f"dataset:{_ENDPOINT.replace('|', ':')}"
    stated = alias_entry(project(events), node, other, 1, is_separate=True)
    state = project([*events, stated.event])
    assert impact_answer(state, node, "amount")["drop"]["verdict"] == "safe"


def test_column_used_for_replaced_data_is_not_safe_as_its_job_may_run_again(build: Any) -> None:
    load = build.run("COMPLETE", "1", "load", "08:00:00", reads=("db|a",), writes=("db|b",))
    source = {"namespace": "db", "name": "a", "field": "x"}
    producer = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/spark"
    columns = {"_producer": producer, "fields": {"x": {"inputFields": [source]}}, "dataset": []}
    load["inputs"][0]["facets"]["schema"] = {"fields": [{"name": "x"}, {"name": "y"}]}
    load["outputs"][0]["facets"]["columnLineage"] = columns
    other = build.run("COMPLETE", "2", "other", "09:00:00", writes=("db|b",))
    change = {"lifecycleStateChange": "OVERWRITE"}
    other["outputs"][0]["facets"]["lifecycleStateChange"] = change
    state = build.state(load, other)
    found = impact_answer(state, "db/a", "x")
    assert (found["affected"], found["drop"]["verdict"]) == ([], "unknown")
    assert [reason["message"] for reason in found["drop"]["reasons"]] == [
        "1 job used it for data that another run replaced since, and fails without it if it runs"
        " again: load (b)."
    ]
    assert impact_answer(state, "db/a", "y")["drop"]["verdict"] == "safe"
