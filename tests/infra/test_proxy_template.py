"""The OpenLineage proxy's template: its functions exist and have the required permissions.

test_template runs cfn-lint on it.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import headwater_aws
from commands.package import PLATFORM, PYTHON
from headwater_aws._clients import CONNECT_SECONDS, READ_SECONDS
from headwater_aws.audit import audit
from headwater_aws.datazone import DataZone
from headwater_aws.receiver import LARGEST_MESSAGE
from headwater_aws.worker import MOST_RECEIVES_EVER
from infra.parts import TEMPLATES
from infra.proxy_local.mapping import BATCH
from tests.infra.templates import load_template

Json = dict[str, Any]
QUEUES = ("Queue", "DeadLetters")


@pytest.fixture(scope="module")
def template() -> Json:
    """Return the template with its short forms (!Sub) expanded."""
    return load_template(TEMPLATES / "openlineage-proxy.yaml")


def _of_type(template: Json, type_: str) -> dict[str, Json]:
    resources = template["Resources"].items()
    return {
        name: resource.get("Properties", {})
        for name, resource in resources
        if resource["Type"] == type_
    }


def _functions(template: Json) -> dict[str, Json]:
    return _of_type(template, "AWS::Lambda::Function")


def test_functions_are_package_handlers_with_the_zips_python(
    template: Json,
) -> None:
    functions = _functions(template)
    assert len(functions) == 4
    for function in functions.values():
        module, _, name = function["Handler"].rpartition(".")
        assert callable(getattr(importlib.import_module(module), name))
        assert function["Runtime"] == f"python{PYTHON}"
        assert PLATFORM.startswith(function["Architectures"][0])


def test_functions_receive_the_variables_of_their_modules(template: Json) -> None:
    source = Path(headwater_aws.__file__).parent
    for function in _functions(template).values():
        module = function["Handler"].split(".")[1]
        needed = set(re.findall(r'variable\("(\w+)"\)', (source / f"{module}.py").read_text()))
        if "datazone_of_environment" in (source / f"{module}.py").read_text():
            needed |= set(re.findall(r'variable\("(\w+)"\)', (source / "datazone.py").read_text()))
        assert needed
        assert needed <= set(function["Environment"]["Variables"]), module


def test_roles_allow_exactly_their_functions_actions(template: Json) -> None:
    allowed = {
        "AuthorizerRole": {"secretsmanager:GetSecretValue"},
        "ReceiverRole": {"sqs:SendMessage"},
        "WorkerRole": {
            "sqs:ChangeMessageVisibility",
            "sqs:DeleteMessage",
            "sqs:GetQueueAttributes",
            "sqs:ReceiveMessage",
            "sqs:SendMessage",
            "datazone:PostLineageEvent",
        },
        "AuditRole": {"datazone:ListLineageEvents"},
    }
    roles = _of_type(template, "AWS::IAM::Role")
    assert set(roles) == set(allowed)
    for name, role in roles.items():
        (policy,) = role["Policies"]
        actions = set()
        for statement in policy["PolicyDocument"]["Statement"]:
            actions |= set(statement["Action"])
            if statement["Resource"] == "*":  # IAM has no resources for lineage actions
                assert all(action.startswith("datazone:") for action in statement["Action"])
        assert actions == allowed[name] | {"logs:CreateLogStream", "logs:PutLogEvents"}


def test_queues_are_encrypted_and_accept_the_maximum_size(template: Json) -> None:
    for name in QUEUES:
        queue = template["Resources"][name]["Properties"]
        assert queue["SqsManagedSseEnabled"] is True
        assert queue["MaximumMessageSize"] == LARGEST_MESSAGE
    (policy,) = _of_type(template, "AWS::SQS::QueuePolicy").values()
    assert policy["Queues"] == [{"Ref": name} for name in QUEUES]
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
    queue = template["Resources"]["Queue"]["Properties"]
    assert queue["RedrivePolicy"]["maxReceiveCount"] == MOST_RECEIVES_EVER


def test_fifo_queue_names_are_valid_and_unique_per_stack(template: Json) -> None:
    names = set()
    for name in QUEUES:
        condition, (text, parts), otherwise = (
            part.get("Fn::Sub", part) if isinstance(part, dict) else part
            for part in template["Resources"][name]["Properties"]["QueueName"]["Fn::If"]
        )
        assert (condition, otherwise) == ("IsFifo", {"Ref": "AWS::NoValue"})
        assert {"Ref": "AWS::StackId"} in parts["Id"]["Fn::Select"][1]["Fn::Split"]
        assert re.fullmatch(r"[\w-]+\$\{Id\}\.fifo", text)
        names.add(text)
    assert len(names) == 2


def test_timeouts_of_batch_worker_and_message_increase(
    template: Json,
) -> None:
    (batches,) = _of_type(template, "AWS::Lambda::EventSourceMapping").values()
    timeout = _functions(template)["Worker"]["Timeout"]
    assert batches["BatchSize"] == BATCH
    assert batches["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert timeout > BATCH * (CONNECT_SECONDS + READ_SECONDS)
    visibility = template["Resources"]["Queue"]["Properties"]["VisibilityTimeout"]
    assert visibility >= 6 * timeout


def test_api_requires_a_key(template: Json) -> None:
    (route,) = _of_type(template, "AWS::ApiGatewayV2::Route").values()
    assert (route["RouteKey"], route["AuthorizationType"]) == ("POST /api/v1/lineage", "CUSTOM")
    assert route["AuthorizerId"] == {"Ref": "KeyCheck"}
    check = template["Resources"]["KeyCheck"]["Properties"]
    assert check["IdentitySource"] == ["$request.header.Authorization"]


def test_alarms_cover_dead_letters_delay_and_failed_processing(
    template: Json, capsys: pytest.CaptureFixture[str]
) -> None:
    alarms = _of_type(template, "AWS::CloudWatch::Alarm").values()
    alarms_by_metric = {alarm["MetricName"]: alarm for alarm in alarms}
    assert set(alarms_by_metric) == {
        "ApproximateNumberOfMessagesVisible",
        "ApproximateAgeOfOldestMessage",
        "ProcessingFailed",
    }
    audit(cast(DataZone, _Failing()))
    *_, written = map(json.loads, capsys.readouterr().out.splitlines())
    (directive,) = written["_aws"]["CloudWatchMetrics"]
    alarm = alarms_by_metric["ProcessingFailed"]
    assert alarm["Namespace"] == directive["Namespace"]
    assert [{dimension["Name"] for dimension in alarm["Dimensions"]}] == [
        set(directive["Dimensions"][0])
    ]
    assert all(
        written[dimension["Name"]] == dimension["Value"] for dimension in alarm["Dimensions"]
    )
    assert alarm["MetricName"] in {metric["Name"] for metric in directive["Metrics"]}
    assert written[alarm["MetricName"]] > alarm["Threshold"]


class _Failing:
    """A DataZone that failed to process two events."""

    def failed(self) -> Iterator[str]:
        """Return their ids."""
        yield from ("a", "b")
