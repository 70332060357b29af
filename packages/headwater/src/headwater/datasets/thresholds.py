"""Thresholds of dbt tests: a failure that `error_if` allows is a warning.

For a test with the result `warn`, dbt-ol reports a failed assertion of the severity `error` and a
failed run, with the condition of `error_if` as the expected value and the number of failures as the
actual one.
"""

from __future__ import annotations

import operator
import re

from headwater.datasets.assertions import Assertion

_COUNT = re.compile(r"[0-9]{1,18}")
_CONDITION = re.compile(rf"\s*(>=|<=|!=|<>|==|=|>|<)\s*({_COUNT.pattern})\s*")
_OPERATORS = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
}


def with_threshold(assertion: Assertion) -> Assertion:
    """Return the assertion of a dbt test; as a warning if its failures do not meet `error_if`."""
    actual = str(assertion.reported.get("actual"))
    condition = _CONDITION.fullmatch(str(assertion.reported.get("expected")))
    if assertion.passed is not False or condition is None or not _COUNT.fullmatch(actual):
        return assertion
    is_error = _OPERATORS[condition[1]](int(actual), int(condition[2]))
    return assertion if is_error else assertion._replace(is_warning=True)
