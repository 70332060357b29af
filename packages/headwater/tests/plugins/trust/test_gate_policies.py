"""Policies of gates: their keys, defaults and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from headwater.documents import validated
from headwater.errors import ConfigError
from headwater.plugins.trust.gate import Policy

_EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "policy.yaml"


def test_example_has_every_key_and_starts_with_the_defaults() -> None:
    body = yaml.safe_load(_EXAMPLE.read_text())
    policy = validated(Policy, body, "policy")
    assert set(body) == set(Policy.model_fields)
    default = Policy()
    for key in ("no_failed_runs", "quality_passed", "no_pii", "no_tainted"):
        assert getattr(policy, key) is getattr(default, key) is True
    assert validated(Policy, policy.model_dump(), "policy") == policy


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], r"policy: received \[\], expected an object of no_failed_runs, "),
        (
            {"no_pi": True},
            r"received the key 'no_pi', expected only .* \(did you mean 'no_pii'\?\)",
        ),
        ({"fresh": "yes"}, "fresh: received 'yes', expected a valid boolean"),
        ({"sources": "file:*"}, "sources: received 'file:.*', expected a valid list"),
        ({"completeness": 0.9}, "completeness: received 0.9, expected a valid dictionary"),
        (
            {"completeness": {"code": 9}},
            "completeness.code: received 9, expected less than or eq",
        ),
        ({"completeness": {"cod": 1}}, "did you mean 'code'"),
    ],
)
def test_invalid_policy_error_names_the_key(body: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validated(Policy, body, "policy")
