"""create-infra against a stand-in: every resource is read back through its own API."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.cloudformation.models import Stack, cloudformation_backends

from commands.infra import create_infra
from infra.aws import Aws, Dialogue, connect
from infra.errors import StackFailed
from infra.names import STACK, bucket_name
from infra.parts import LAKEHOUSE, Part
from infra.stack import apply_stack, find_stack, follow
from lakehouse.errors import SetupError
from lakehouse.settings import Settings

pytestmark = pytest.mark.server


class Talk:
    """Records the output and gives the same answer to every question."""

    def __init__(self, answer: bool = True) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self._answer = answer

    @property
    def dialogue(self) -> Dialogue:
        return Dialogue(say=self.said.append, confirm=self._confirm)

    @property
    def text(self) -> str:
        return "\n".join(self.said)

    def _confirm(self, question: str) -> bool:
        self.asked.append(question)
        return self._answer


def the_stack(aws: Aws) -> Stack:
    """Return the stand-in's stack object, to set states that it never reaches."""
    stacks = cloudformation_backends[aws.account][aws.region].stacks.values()
    return next(stack for stack in stacks if stack.name == STACK)


def test_create_makes_a_private_encrypted_versioned_bucket(aws: Aws) -> None:
    apply_stack(aws, Talk().dialogue)
    bucket = bucket_name(aws.account, aws.region)
    encryption = aws.s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]
    assert encryption["Rules"][0]["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"
    assert aws.s3.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    access = aws.s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    assert len(access) == 4
    assert all(access.values())
    owner = aws.s3.get_bucket_ownership_controls(Bucket=bucket)["OwnershipControls"]
    assert owner["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    rules = aws.s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    assert rules[0]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}
    assert rules[0]["Expiration"] == {"ExpiredObjectDeleteMarker": True}
    assert rules[1]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}
    assert (rules[2]["Filter"], rules[2]["Expiration"]) == ({"Prefix": "athena/"}, {"Days": 7})


def test_bucket_requires_tls(aws: Aws) -> None:
    apply_stack(aws, Talk().dialogue)
    bucket = bucket_name(aws.account, aws.region)
    policy = json.loads(aws.s3.get_bucket_policy(Bucket=bucket)["Policy"])
    statement = policy["Statement"][0]
    assert statement["Effect"] == "Deny"
    assert statement["Principal"] == "*"
    assert statement["Action"] == "s3:*"
    assert statement["Resource"] == [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"]
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_database_location_is_the_warehouse(aws: Aws) -> None:
    apply_stack(aws, Talk().dialogue)
    database = aws.glue.get_database(Name="nyc_taxi")["Database"]
    bucket = bucket_name(aws.account, aws.region)
    assert database["LocationUri"] == f"s3://{bucket}/warehouse/nyc_taxi"


def _role(settings: Settings, outputs: dict[str, str]) -> tuple[Any, Any]:
    iam = boto3.client("iam", endpoint_url=settings.aws_endpoint_url, region_name="us-east-1")
    name = outputs["RoleArn"].rsplit("/", 1)[1]
    trust = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    policy = iam.get_role_policy(RoleName=name, PolicyName="lakehouse")["PolicyDocument"]
    return trust, ast.literal_eval(str(policy))


def test_role_is_limited_to_bucket_and_database(aws: Aws, settings: Settings) -> None:
    outputs = apply_stack(aws, Talk().dialogue)
    assert outputs is not None
    trust, policy = _role(settings, outputs)
    assert trust["Statement"][0]["Principal"] == {"AWS": f"arn:aws:iam::{aws.account}:root"}
    bucket = bucket_name(aws.account, aws.region)
    glue = f"arn:aws:glue:us-east-1:{aws.account}"
    resources: set[str] = set()
    for statement in policy["Statement"]:
        arns = statement["Resource"]
        resources |= {arns} if isinstance(arns, str) else set(arns)
    assert resources == {
        f"arn:aws:s3:::{bucket}",
        f"arn:aws:s3:::{bucket}/*",
        f"{glue}:catalog",
        f"{glue}:database/nyc_taxi",
        f"{glue}:table/nyc_taxi/*",
    }


@pytest.fixture
def earlier_template(tmp_path: Path) -> Part:
    """Return an earlier template, which keeps old versions for only a week."""
    path = tmp_path / "earlier.yaml"
    path.write_text(
        LAKEHOUSE.template.read_text().replace("NoncurrentDays: 30", "NoncurrentDays: 7")
    )
    return replace(LAKEHOUSE, template=path)


def test_trusted_principal_is_kept_through_an_update(
    aws: Aws, settings: Settings, earlier_template: Part
) -> None:
    someone = "arn:aws:iam::222222222222:role/airflow"
    outputs = apply_stack(
        aws, Talk().dialogue, overrides={"TrustedPrincipal": someone}, part=earlier_template
    )
    assert outputs is not None
    assert _role(settings, outputs)[0]["Statement"][0]["Principal"] == {"AWS": someone}
    apply_stack(aws, Talk().dialogue)
    assert the_stack(aws).parameters["TrustedPrincipal"] == someone


def test_create_shows_changes_and_then_events(aws: Aws) -> None:
    talk = Talk()
    apply_stack(aws, talk.dialogue)
    for kind in ("S3::Bucket ", "S3::BucketPolicy ", "Glue::Database ", "IAM::Role "):
        assert f"Add     AWS::{kind}" in talk.text
    assert len(talk.asked) == 1
    assert talk.said[-2].startswith("  CREATE_COMPLETE  AWS::CloudFormation::Stack")
    assert talk.said[-1] == f"The stack {STACK} is ready."


def test_repeated_create_changes_and_asks_nothing(aws: Aws) -> None:
    first = apply_stack(aws, Talk().dialogue)
    talk = Talk(answer=False)
    assert apply_stack(aws, talk.dialogue) == first
    assert talk.said == [f"The stack {STACK} is up to date: nothing to change."]
    assert talk.asked == []


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry run", "answer no"])
def test_create_changes_nothing_in_a_dry_run_or_when_declined(aws: Aws, dry_run: bool) -> None:
    talk = Talk(answer=False)
    assert apply_stack(aws, talk.dialogue, dry_run=dry_run) is None
    assert "Add     AWS::S3::Bucket  Bucket" in talk.text
    assert find_stack(aws, STACK) is None
    assert aws.s3.list_buckets()["Buckets"] == []
    assert aws.glue.get_databases()["DatabaseList"] == []


def test_create_updates_an_earlier_stack_to_the_template(aws: Aws, earlier_template: Part) -> None:
    apply_stack(aws, Talk().dialogue, part=earlier_template)
    talk = Talk()
    apply_stack(aws, talk.dialogue)
    assert "Modify  AWS::S3::Bucket  Bucket" in talk.text
    rules = aws.s3.get_bucket_lifecycle_configuration(Bucket=bucket_name(aws.account, aws.region))[
        "Rules"
    ]
    assert rules[0]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 30}


def test_dry_run_does_not_change_an_existing_stack(aws: Aws, earlier_template: Part) -> None:
    apply_stack(aws, Talk().dialogue, part=earlier_template)
    proposals = len(aws.cloudformation.list_change_sets(StackName=STACK)["Summaries"])
    talk = Talk()
    apply_stack(aws, talk.dialogue, dry_run=True)
    assert talk.said[-1] == "Dry run: nothing was changed."
    assert talk.asked == []
    assert len(aws.cloudformation.list_change_sets(StackName=STACK)["Summaries"]) == proposals
    rules = aws.s3.get_bucket_lifecycle_configuration(Bucket=bucket_name(aws.account, aws.region))[
        "Rules"
    ]
    assert rules[0]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 7}


def test_accounts_and_regions_have_different_buckets(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = connect(settings)
    europe = connect(settings.model_copy(update={"aws_region": "eu-west-1"}))
    sts = boto3.client("sts", endpoint_url=settings.aws_endpoint_url, region_name="us-east-1")
    other = sts.assume_role(
        RoleArn="arn:aws:iam::111111111111:role/admin", RoleSessionName="other"
    )["Credentials"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", other["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", other["SecretAccessKey"])
    monkeypatch.setenv("AWS_SESSION_TOKEN", other["SessionToken"])
    there = connect(settings)
    outputs = [apply_stack(aws, Talk().dialogue) for aws in (here, europe, there)]
    buckets = {values["BucketName"] for values in outputs if values}
    assert len(buckets) == 3
    assert {a.account for a in (here, europe, there)} == {"123456789012", "111111111111"}


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        ("ROLLBACK_COMPLETE", "destroy-infra"),
        ("DELETE_FAILED", "destroy-infra"),
        ("UPDATE_ROLLBACK_FAILED", "continue-update-rollback"),
        ("UPDATE_IN_PROGRESS", "when that has ended"),
    ],
)
def test_unchangeable_stack_error_has_a_fix(aws: Aws, status: str, advice: str) -> None:
    apply_stack(aws, Talk().dialogue)
    the_stack(aws).status = status
    with pytest.raises(StackFailed, match=f"{status}.*{advice}"):
        apply_stack(aws, Talk().dialogue)


def test_rollback_error_names_the_first_cause(aws: Aws) -> None:
    apply_stack(aws, Talk().dialogue)
    stack = the_stack(aws)
    stack.status = "ROLLBACK_COMPLETE"
    stack._add_stack_event("CREATE_FAILED", resource_status_reason="The bucket exists already")
    stack._add_stack_event("ROLLBACK_COMPLETE")
    talk = Talk()
    with pytest.raises(StackFailed, match="The bucket exists already.*destroy-infra"):
        follow(aws, talk.dialogue, stack.stack_id, set())
    assert "CREATE_FAILED" in talk.text


def test_create_prints_the_settings(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    create_infra(settings, dry_run=False, yes=True)
    said = capsys.readouterr().out
    bucket = bucket_name("123456789012", "us-east-1")
    assert (
        f'lakehouse: glue\naws_account: "123456789012"\naws_region: us-east-1\nbucket: {bucket}\n'
    ) in said


def test_create_without_a_terminal_needs_yes(settings: Settings, aws: Aws) -> None:
    with pytest.raises(SetupError, match="--yes"):
        create_infra(settings, dry_run=False, yes=False)
    assert find_stack(aws, STACK) is None
