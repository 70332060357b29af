"""Assertions: results of checks, in one form for the facets of every producer.

A result may be missing: dbt reports tests that it did not run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from headwater.events import Facets, Json, dump
from headwater.events.column_lineage import objects
from headwater.events.facets import ASSERTION_FACETS

_PASSED = {"pass": True, "passed": True, "success": True, "true": True}
_FAILED = {"fail": False, "failed": False, "error": False, "false": False, "warn": False}
_RESULTS = _PASSED | _FAILED
_EXPECTATION_KEYS = "expectationType", "expectation_type", "type"
_RESULT_KEYS = {"success", "actual", "status", "description"}


class Assertion(NamedTuple):
    """The result of an assertion about a dataset or one of its columns."""

    name: str
    column: str | None
    passed: bool | None
    """None if it was skipped or has no result."""
    is_warning: bool
    """True if a failure is only a warning."""
    reported: Json
    """The assertion as reported; with `assertion` and `success`, whatever the producer."""

    @property
    def failed(self) -> bool:
        """Return True if it failed and this is more than a warning."""
        return self.passed is False and not self.is_warning

    @property
    def title(self) -> str:
        """The name, with the column."""
        return f"{self.name} of {self.column}" if self.column else self.name

    @property
    def key(self) -> str:
        """The definition of the assertion: everything reported except its result."""
        return dump({k: v for k, v in self.reported.items() if k not in _RESULT_KEYS}).decode()


def assertion_of(reported: Json) -> Assertion:
    """Return an assertion in the form of the specification.

    Missing or unknown values never fail: an unknown result is None, and a check without a name gets
    one.
    """
    column, success = reported.get("column"), reported.get("success")
    passed = success if isinstance(success, bool) else _RESULTS.get(str(success).lower())
    return Assertion(
        str(reported.get("name") or reported.get("assertion") or "unnamed check"),
        str(column) if column else None,
        passed,
        str(reported.get("severity")).lower() in ("warn", "warning", "info"),
        reported,
    )


def dataset_assertions(facets: Facets) -> list[Assertion]:
    """Return the assertions in the facets of a dataset."""
    found = [item for name in ASSERTION_FACETS for item in _items(facets, name, "assertions")]
    return [assertion_of(_renamed(item, _kind_in(item))) for item in found]


def _kind_in(item: Json) -> str:
    """Return the key in which Great Expectations has the type: that of its action, or its own."""
    return next((key for key in _EXPECTATION_KEYS if key in item), _EXPECTATION_KEYS[0])


def tests_of_run(facet: Json) -> list[Assertion]:
    """Return the assertions in a `test` facet of a run.

    The status `warn` is a failure that is only a warning.
    """
    found = []
    for item in objects(facet.get("tests")):
        status = str(item.get("status")).lower()
        severity = {"severity": "warn"} if status == "warn" else {}
        result = {"success": _RESULTS.get(status), **severity}
        found.append(assertion_of({**_renamed(item, "type"), **result}))
    return found


def _items(facets: Facets, name: str, key: str) -> Iterable[Json]:
    return objects(facets.get(name, {}).get(key))


def _renamed(item: Json, kind: str) -> Json:
    """Return an assertion whose kind is named `assertion`, as in the specification.

    `kind` is the key in which its producer has it, such as `expectationType`.
    """
    if kind not in item or "assertion" in item:
        return item
    return {"assertion": item[kind], **{k: v for k, v in item.items() if k != kind}}
