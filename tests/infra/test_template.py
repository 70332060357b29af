"""The templates pass cfn-lint, and their roles have minimal permissions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.names import bucket_name
from infra.parts import EMR_SERVERLESS, LAKEHOUSE, TEMPLATES, Part
from tests.infra.templates import load_template

Json = dict[str, Any]


@pytest.fixture(params=[LAKEHOUSE, EMR_SERVERLESS], ids=lambda part: part.name)
def part(request: pytest.FixtureRequest) -> Part:
    return request.param


@pytest.fixture
def template(part: Part) -> Json:
    """Return the template with its short forms (!Sub) expanded."""
    return load_template(part.template)


@pytest.mark.server
def test_cfn_lint_finds_nothing() -> None:
    linted = subprocess.run(
        [Path(sys.executable).with_name("cfn-lint"), *sorted(TEMPLATES.glob("*.yaml"))],
        capture_output=True,
        text=True,
    )
    assert linted.stdout + linted.stderr == ""
    assert linted.returncode == 0


def test_role_has_no_wildcard_actions(template: Json) -> None:
    statements = _statements(template)
    actions = [action for statement in statements for action in statement["Action"]]
    assert len(actions) > 10
    assert [action for action in actions if "*" in action] == []
    services = {action.split(":")[0] for action in actions}
    assert {"s3", "glue"} <= services <= {"s3", "glue", "logs", "secretsmanager"}


def test_role_resources_are_bucket_and_database(template: Json) -> None:
    for statement in _statements(template):
        assert statement["Effect"] == "Allow"
        if statement["Sid"] in ("Log", "FindLog", "LineageKey"):
            continue
        arns = statement["Resource"]
        for resource in arns if isinstance(arns, list) else [arns]:
            arn = resource["Fn::Sub"]
            own = ("${Bucket}", "${BucketName}", "${DatabaseName}")
            assert any(part in arn for part in own) or arn.endswith(":catalog"), arn


def test_emr_role_is_limited_to_its_log_and_secret() -> None:
    template = load_template(EMR_SERVERLESS.template)
    by_sid = {statement["Sid"]: statement for statement in _statements(template)}
    assert by_sid["Log"]["Resource"] == {"Fn::GetAtt": ["Log", "Arn"]}
    assert by_sid["FindLog"]["Action"] == ["logs:DescribeLogGroups"]
    assert by_sid["LineageKey"]["Resource"] == {"Ref": "LineageSecretArn"}


def test_role_cannot_be_assumed_by_everyone(template: Json) -> None:
    role = template["Resources"]["Role"]["Properties"]
    for statement in role["AssumeRolePolicyDocument"]["Statement"]:
        assert set(statement["Principal"]) <= {"AWS", "Service"}
        assert "*" not in str(statement["Principal"])
        if "Service" in statement["Principal"]:  # must not act for another account
            assert "aws:SourceAccount" in statement["Condition"]["StringEquals"]


def test_bucket_name_is_valid_and_unique_per_account_and_region() -> None:
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
        statement["Fn::If"][1] if "Fn::If" in statement else statement
        for policy in role["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]
