"""Optional parts of the infrastructure are created, shown and deleted by the same commands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import boto3
import pytest

import infra.status
from commands.infra import create_infra, destroy_infra, infra_status
from infra.aws import Aws
from infra.errors import InfraError
from infra.parts import DATAZONE, EMR_SERVERLESS, LAKEHOUSE, PARTS
from infra.stack import find_stack, outputs, stack_parameters
from lakehouse.errors import SettingsError
from lakehouse.settings import Settings, load_settings
from tests.infra import stand_in_resources

pytestmark = pytest.mark.server

BOTH = "datazone,emr-serverless"


def _create(settings: Settings, *options: str, with_: str = BOTH) -> None:
    create_infra(settings, dry_run=False, yes=True, with_=with_, parameter_options=list(options))


def _as_printed(settings: Settings, said: str) -> Settings:
    """Return the settings that create-infra prints for settings.yaml."""
    lines = said.rpartition("settings.yaml:")[2].strip().splitlines()
    values = {name: value.strip('"') for name, value in (line.split(": ") for line in lines)}
    return load_settings(
        **values, state_dir=settings.state_dir, aws_endpoint_url=settings.aws_endpoint_url
    )


def test_emr_application_has_auto_stop_and_limits(aws: Aws, settings: Settings) -> None:
    _create(settings, with_="emr-serverless")
    values = outputs(find_stack(aws, EMR_SERVERLESS.stack)) or {}
    application = aws.emr.get_application(applicationId=values["ApplicationId"])["application"]
    assert application["releaseLabel"] == "emr-spark-8.0.0"
    assert application["autoStopConfiguration"] == {"enabled": True, "idleTimeoutMinutes": 5}
    assert application["maximumCapacity"]["cpu"] == "16 vCPU"
    assert "networkConfiguration" not in application
    assert find_stack(aws, DATAZONE.stack) is None


def test_printed_settings_are_complete(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    _create(settings)
    printed = _as_printed(settings, capsys.readouterr().out)
    ready = printed.model_copy(update={"spark": "emr-serverless"})
    assert load_settings(**{n: getattr(ready, n) for n in ready.model_fields_set | {"spark"}})
    assert printed.datazone_domain_id.startswith("dzd_")
    assert infra_status(printed) == 0


def test_template_parameter_is_applied_and_kept(aws: Aws, settings: Settings) -> None:
    _create(settings, "EnvironmentId=abc123")
    _create(settings)
    assert stack_parameters(find_stack(aws, DATAZONE.stack))["EnvironmentId"] == "abc123"
    sources = [d for d in stand_in_resources.DATAZONE.values() if "EnvironmentIdentifier" in d]
    assert [source["EnvironmentIdentifier"] for source in sources] == ["abc123"]
    filters = sources[0]["Configuration"]["GlueRunConfiguration"]["RelationalFilterConfigurations"]
    assert filters[0]["DatabaseName"] == "nyc_taxi"


@pytest.mark.parametrize(
    ("with_", "given", "message"),
    [
        ("emr", (), r"--with received emr; allowed: emr-serverless, datazone"),
        ("", ("EnvironmentId=a",), r"received EnvironmentId=a; .*TrustedPrincipal"),
        (BOTH, ("EnvironmentId",), r"received EnvironmentId; .*NAME=VALUE"),
        (BOTH, ("BucketName=mine",), r"received BucketName=mine"),
    ],
)
def test_unknown_part_or_parameter_is_rejected_first(
    aws: Aws, settings: Settings, with_: str, given: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InfraError, match=message):
        _create(settings, *given, with_=with_)
    assert find_stack(aws, LAKEHOUSE.stack) is None


def test_destroy_deletes_every_part(
    aws: Aws, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    _create(settings)
    capsys.readouterr()
    destroy_infra(settings, dry_run=False, yes=True)  # also for a running application
    deleted = [
        line for line in capsys.readouterr().out.splitlines() if line.startswith("Deleted the")
    ]
    assert deleted == [f"Deleted the stack {part.stack}." for part in reversed(PARTS)]
    assert stand_in_resources.DATAZONE == {}
    assert {a["state"] for a in aws.emr.list_applications()["applications"]} <= {"TERMINATED"}
    region, endpoint = settings.aws_region, settings.aws_endpoint_url
    iam = boto3.client("iam", endpoint_url=endpoint, region_name=region)
    assert iam.list_roles()["Roles"] == []
    logs = boto3.client("logs", endpoint_url=endpoint, region_name=region)
    assert logs.describe_log_groups()["logGroups"] == []


def test_part_is_deleted_without_a_lakehouse(aws: Aws, settings: Settings) -> None:
    _create(settings)
    aws.cloudformation.delete_stack(StackName=LAKEHOUSE.stack)
    destroy_infra(settings, dry_run=False, yes=True)
    assert [find_stack(aws, part.stack) for part in PARTS] == [None, None, None]


def _status(settings: Settings, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    code = infra_status(settings)
    output = capsys.readouterr()
    return code, output.out + output.err


def test_status_without_stacks_shows_the_commands(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = _status(settings, capsys)
    assert code == 1
    assert "! it does not exist; run ./run create-infra" in said
    assert "datazone  not created; ./run create-infra --with datazone creates it" in said


def test_status_shows_resources_outputs_and_wrong_settings(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    _create(settings, with_="emr-serverless")
    code, said = _status(settings, capsys)
    assert code == 1
    assert "AWS::EMRServerless::Application  Application" in said
    assert "LogGroup = " in said
    assert "costs when idle: stored logs only" in said
    assert "! the setting emr_application_id is not set, expected " in said
    gone = settings.model_copy(update={"datazone_domain_id": "dzd_gone"})
    assert (
        "datazone_domain_id is 'dzd_gone', but the stack does not exist" in _status(gone, capsys)[1]
    )


def test_status_shows_changed_templates_and_parameters(
    aws: Aws, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _create(settings, with_="")
    here = infra.status.part_status(aws, settings, LAKEHOUSE)
    assert [
        problem for problem in here.problems if "template" in problem or "parameter" in problem
    ] == []
    path = tmp_path / "lakehouse.yaml"
    path.write_text(
        LAKEHOUSE.template.read_text().replace("NoncurrentDays: 30", "NoncurrentDays: 9")
    )
    monkeypatch.setattr("infra.stack.DATABASE", "other")
    there = infra.status.part_status(aws, settings, replace(LAKEHOUSE, template=path))
    assert "its template differs from lakehouse.yaml; run ./run create-infra" in there.problems
    assert any(
        "parameter DatabaseName is 'nyc_taxi', expected 'other'" in p for p in there.problems
    )


def test_status_without_credentials_has_its_own_exit_code(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    code, said = _status(settings, capsys)
    assert code == 2
    assert said.startswith("Error: Unable to locate credentials")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "SPARK=emr-serverless requires LAKEHOUSE=glue, not local"),
        (
            {
                "lakehouse": "glue",
                "bucket": "b",
                "aws_account": "123456789012",
                "emr_role_arn": "arn:x",
            },
            "SPARK=emr-serverless also requires EMR_APPLICATION_ID; .* --with emr-serverless",
        ),
    ],
)
def test_emr_requires_its_settings(given: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(spark="emr-serverless", **given)
