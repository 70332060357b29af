"""The template by itself: cfn-lint, and a role that is allowed no more than it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from moto.cloudformation.models import Stack

from infra.names import bucket_name
from infra.stack import TEMPLATE

Json = dict[str, Any]


@pytest.fixture(scope="module")
def template() -> Json:
    """The template with its short forms (!Sub) written out."""
    return Stack.parse_template(TEMPLATE.read_text())


def test_cfn_lint_finds_nothing() -> None:
    linted = subprocess.run(
        [Path(sys.executable).with_name("cfn-lint"), *sorted(TEMPLATE.parent.glob("*.yaml"))],
        capture_output=True,
        text=True,
    )
    assert linted.stdout + linted.stderr == ""
    assert linted.returncode == 0


def test_the_role_is_allowed_no_action_by_wildcard(template: Json) -> None:
    statements = _statements(template)
    actions = [action for statement in statements for action in statement["Action"]]
    assert len(actions) > 10
    assert [action for action in actions if "*" in action] == []
    assert {action.split(":")[0] for action in actions} == {"s3", "glue"}


def test_the_role_reaches_nothing_outside_the_bucket_and_the_database(template: Json) -> None:
    for statement in _statements(template):
        assert statement["Effect"] == "Allow"
        named = statement["Resource"]
        for resource in named if isinstance(named, list) else [named]:
            arn = resource["Fn::Sub"]
            assert "${Bucket}" in arn or "${DatabaseName}" in arn or arn.endswith(":catalog"), arn


def test_the_role_can_be_assumed_by_nobody_in_general(template: Json) -> None:
    role = template["Resources"]["Role"]["Properties"]
    for statement in role["AssumeRolePolicyDocument"]["Statement"]:
        assert set(statement["Principal"]) == {"AWS"}
        assert "*" not in str(statement["Principal"])


def test_a_bucket_s_name_depends_on_account_and_region_and_is_allowed_by_s3() -> None:
    names = {
        bucket_name(account, region)
        for account in ("111111111111", "222222222222")
        for region in ("us-east-1", "eu-central-1")
    }
    assert len(names) == 4
    assert bucket_name("111111111111", "us-east-1") == "airflow-metaflow-1dd0efb1ad"
    assert all(len(name) <= 63 and "111111111111" not in name for name in names)


def _statements(template: Json) -> list[Json]:
    role = template["Resources"]["Role"]["Properties"]
    return [
        statement
        for policy in role["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]
