"""Facets as models: tolerant parsing, once for equal facets."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.events.facets import Facet, JobType, Parent, Schema, SchemaField, Tag, Tags
from headwater.projection.facet_books import FacetBook, Stamp

JUNK: list[Any] = [None, True, 7, -0.5, "", "text", [], [None, 1, "a", [], {}], {}, {"a": {}}]
MODELS = sorted(Facet.__subclasses__(), key=lambda model: model.KEY)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.KEY)
def test_values_of_an_unexpected_type_are_ignored(model: type[Facet]) -> None:
    empty = model.parse({})
    names = [*model.__annotations__, "taskInstance", "dagRun", "commitMetrics", "root", "job"]
    for junk in JUNK:
        parsed = model.parse(dict.fromkeys(names, junk))
        for name, default in vars(empty).items():
            expected = str | int | None if default is None else type(default)
            assert isinstance(getattr(parsed, name), expected), (name, junk)


def test_keys_of_models_are_unique() -> None:
    assert len({model.KEY for model in MODELS}) == len(MODELS)


def test_nested_fields_follow_the_field_around_them() -> None:
    inner = {"name": "b", "type": "int", "description": "inner"}
    fields = [{"name": "a", "fields": [inner]}, {"type": "int"}, {"name": "c", "type": "int"}]
    assert list(Schema.parse({"fields": fields}).fields.items()) == [
        ("a", SchemaField("", None, is_nested=False)),
        ("a.b", SchemaField("int", "inner", is_nested=True)),
        ("c", SchemaField("int", None, is_nested=False)),
    ]


@pytest.mark.parametrize(
    ("value", "label", "is_pii"),
    [("", "pii", True), ("true", "pii", True), ("no", "pii:no", False), ("x", "pii:x", True)],
)
def test_tag_label_omits_the_value_true(value: str, label: str, is_pii: bool) -> None:
    tag = Tag("pii", value, "", "")
    assert (tag.label, tag.is_pii) == (label, is_pii)


def test_reference_without_a_job_or_a_run_is_not_a_parent() -> None:
    job, run = {"namespace": "ns", "name": "dag"}, {"runId": "r"}
    assert Parent.parse({"job": job, "run": run}).run == (("ns", "dag"), "r")
    for facet in ({"job": job}, {"run": run}, {"job": {"name": "dag"}, "run": run}):
        assert Parent.parse(facet).run is None


def test_equal_facets_are_parsed_once() -> None:
    tags = {"tags": {"tags": [{"key": "k"}]}}
    books = [FacetBook().put(tags, Stamp(time, "")) for time in range(2)]
    one, other = (book.parsed(Tags) for book in books)
    assert one is other
    assert one.tags == [Tag("k", "", "", "")]
    assert books[0].parsed(JobType) == JobType.parse({})


def test_tags_without_a_key_are_ignored() -> None:
    listed = [{"key": "pii", "value": "true"}, {"value": "true"}, {"key": "", "value": "x"}]
    assert [tag.key for tag in Tags.parse({"tags": listed}).tags] == ["pii"]
