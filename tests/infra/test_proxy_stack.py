"""The OpenLineage proxy's stack, made on the stand-in and seen through each service's own API."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import boto3
import pytest
import yaml
from moto.cloudformation.models import Stack

from infra.parts import TEMPLATES
from infra.stack import outputs
from lakehouse.settings import Settings
from tests.infra import stand_in_proxy
from tests.proxy.guide import block

pytestmark = pytest.mark.server

Json = dict[str, Any]
TEMPLATE = (TEMPLATES / "openlineage-proxy.yaml").read_text()
STACK, CODE = "openlineage-proxy", "code"
TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"
assert stand_in_proxy  # moto finds its classes once it is imported


class Made:
    """A stack, and clients of the account that it is in."""

    def __init__(self, settings: Settings, kind: str) -> None:
        self._settings = settings
        self.kind = kind
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w") as file:
            file.writestr("none.py", "")
        s3 = self.client("s3")
        s3.create_bucket(Bucket=CODE)
        s3.put_object(Bucket=CODE, Key="1.zip", Body=zipped.getvalue())
        given = {
            "DomainId": "dzd_standin",
            "CodeBucket": CODE,
            "CodeKey": "1.zip",
            "QueueKind": kind,
            "AlarmTopic": TOPIC,
        }
        self.client("cloudformation").create_stack(
            StackName=STACK,
            TemplateBody=TEMPLATE,
            Parameters=[{"ParameterKey": k, "ParameterValue": v} for k, v in given.items()],
            Capabilities=["CAPABILITY_IAM"],
        )
        found = self.client("cloudformation").list_stack_resources(StackName=STACK)
        resources = found["StackResourceSummaries"]
        self.ids = {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in resources}

    def client(self, service: Any) -> Any:
        """A client of one of the account's services."""
        region, url = self._settings.aws_region, self._settings.aws_endpoint_url
        return boto3.client(service, region_name=region, endpoint_url=url)

    def function(self, name: str) -> Json:
        """A function as Lambda has it."""
        found: Json = self.client("lambda").get_function(FunctionName=self.ids[name])
        return dict(found["Configuration"])

    def queue(self, name: str) -> Json:
        """The attributes of a queue."""
        asked = {"QueueUrl": self.ids[name], "AttributeNames": ["All"]}
        return dict(self.client("sqs").get_queue_attributes(**asked)["Attributes"])


@pytest.fixture(params=["standard", "fifo"])
def made(settings: Settings, request: pytest.FixtureRequest) -> Made:
    """The stack, with queues of each kind."""
    return Made(settings, request.param)


def test_every_resource_of_the_template_is_made(made: Made) -> None:
    template = Stack.parse_template(TEMPLATE)
    assert set(made.ids) == set(template["Resources"])


def test_the_queue_hands_what_is_given_up_to_the_dead_letters(made: Made) -> None:
    queue, dead = made.queue("Queue"), made.queue("DeadLetters")
    redrive = json.loads(queue["RedrivePolicy"])
    assert (redrive["deadLetterTargetArn"], redrive["maxReceiveCount"]) == (dead["QueueArn"], 1000)
    for each in (queue, dead):
        assert each.get("FifoQueue", "false") == str(made.kind == "fifo").lower()
        assert each["QueueArn"].endswith(".fifo") == (made.kind == "fifo")
        (statement,) = json.loads(each["Policy"])["Statement"]
        assert statement["Resource"] == [queue["QueueArn"], dead["QueueArn"]]


def test_each_role_may_use_the_very_resources_of_its_function(made: Made) -> None:
    iam = made.client("iam")
    queue, dead = made.queue("Queue")["QueueArn"], made.queue("DeadLetters")["QueueArn"]
    logs = made.client("logs").describe_log_groups()["logGroups"]
    # Of AWS, GetAtt ends with ":*" too, for the streams in it.
    arns = {group["logGroupName"]: group["arn"].removesuffix(":*") for group in logs}
    allowed = {
        "Authorizer": {made.ids["Key"]},
        "Receiver": {queue},
        "Worker": {queue, dead, "*"},
        "Audit": {"*"},
    }
    for name, resources in allowed.items():
        role = made.ids[f"{name}Role"]
        assert made.function(name)["Role"].endswith(f"/{role}")
        (policy,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
        document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
        statements = yaml.safe_load(document)["Statement"]  # moto's are no JSON
        named = {each["Resource"] for each in statements}
        assert named == resources | {arns[made.ids[f"{name}Log"]]}
    assert {group["retentionInDays"] for group in logs} == {30}


def test_the_functions_are_told_where_the_queues_and_the_key_are(made: Made) -> None:
    def told(name: str) -> Json:
        return dict(made.function(name)["Environment"]["Variables"])

    assert told("Authorizer") == {"KEY_SECRET": made.ids["Key"]}
    assert told("Receiver") == {"QUEUE_URL": made.ids["Queue"]}
    worker = told("Worker")
    assert (worker["QUEUE_URL"], worker["DEAD_LETTER_URL"]) == (
        made.ids["Queue"],
        made.ids["DeadLetters"],
    )
    assert (worker["DOMAIN_ID"], worker["ACCOUNT"]) == ("dzd_standin", "123456789012")
    key = made.client("secretsmanager").get_secret_value(SecretId=made.ids["Key"])["SecretString"]
    assert len(key) == 48
    assert key.isalnum()


def test_events_go_from_the_api_to_the_receiver_and_from_the_queue_to_the_worker(
    made: Made,
) -> None:
    gateway = made.client("apigatewayv2")
    (api,) = gateway.get_apis()["Items"]
    of_api = {"ApiId": api["ApiId"]}
    (route,) = gateway.get_routes(**of_api)["Items"]
    (integration,) = gateway.get_integrations(**of_api)["Items"]
    authorizer = gateway.get_authorizer(**of_api, AuthorizerId=made.ids["KeyCheck"])
    (stage,) = gateway.get_stages(**of_api)["Items"]
    assert route["RouteKey"] == "POST /api/v1/lineage"
    assert route["Target"] == f"integrations/{integration['IntegrationId']}"
    assert route["AuthorizerId"] == authorizer["AuthorizerId"]
    assert integration["IntegrationUri"] == made.function("Receiver")["FunctionArn"]
    assert f"/{made.function('Authorizer')['FunctionArn']}/" in authorizer["AuthorizerUri"]
    assert stage["StageName"] == "$default"
    (mapping,) = made.client("lambda").list_event_source_mappings()["EventSourceMappings"]
    assert mapping["EventSourceArn"] == made.queue("Queue")["QueueArn"]
    assert mapping["FunctionArn"] == made.function("Worker")["FunctionArn"]
    assert mapping["BatchSize"] == 10


def test_who_calls_a_function_may_do_so(made: Made) -> None:
    (api,) = made.client("apigatewayv2").get_apis()["Items"]
    (rule,) = made.client("events").list_rules()["Rules"]
    (target,) = made.client("events").list_targets_by_rule(Rule=rule["Name"])["Targets"]
    assert target["Arn"] == made.function("Audit")["FunctionArn"]
    callers = {
        "Authorizer": ("apigateway", f":{api['ApiId']}/authorizers/{made.ids['KeyCheck']}"),
        "Receiver": ("apigateway", f":{api['ApiId']}/*/POST/api/v1/lineage"),
        "Audit": ("events", f":rule/{rule['Name']}"),
    }
    for name, (service, source) in callers.items():
        policy = made.client("lambda").get_policy(FunctionName=made.ids[name])["Policy"]
        (statement,) = json.loads(policy)["Statement"]
        assert statement["Principal"] == {"Service": f"{service}.amazonaws.com"}
        assert statement["Condition"]["ArnLike"]["AWS:SourceArn"].endswith(source)


def test_alarms_look_at_the_queues_and_tell_the_topic(made: Made) -> None:
    alarms = made.client("cloudwatch").describe_alarms()["MetricAlarms"]
    assert {alarm["AlarmActions"][0] for alarm in alarms} == {TOPIC}
    looked = {
        alarm["MetricName"]: alarm["Dimensions"][0]["Value"]
        for alarm in alarms
        if alarm["Namespace"] == "AWS/SQS"
    }
    assert looked == {
        "ApproximateNumberOfMessagesVisible": made.queue("DeadLetters")["QueueArn"].split(":")[-1],
        "ApproximateAgeOfOldestMessage": made.queue("Queue")["QueueArn"].split(":")[-1],
    }


def test_the_outputs_are_the_guide_s_settings_with_the_url_filled_in(made: Made) -> None:
    (stack,) = made.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    told = outputs(stack) or {}
    url = f"https://{made.ids['Api']}.execute-api.us-east-1.amazonaws.com"
    assert told["Url"] == url
    assert made.ids["Key"] in told["KeyCommand"]
    assert told["DeadLetters"] == made.ids["DeadLetters"]
    given = {"https://PROXY": url, "MY_BUCKET": CODE, "111122223333": "123456789012"}
    for name, heading in (
        ("SparkParameters", "Spark"),
        ("AirflowEnvironment", "Airflow"),
        ("DbtEnvironment", "dbt"),
    ):
        expected = block(heading).removesuffix("dbt-ol run\n").strip()
        for placeholder, value in given.items():
            expected = expected.replace(placeholder, value)
        assert told[name] == expected


def test_without_the_stack_only_the_queues_are_left(made: Made) -> None:
    made.client("cloudformation").delete_stack(StackName=STACK)
    assert made.client("lambda").list_functions()["Functions"] == []
    assert made.client("iam").list_roles()["Roles"] == []
    assert made.client("apigatewayv2").get_apis()["Items"] == []
    assert made.client("logs").describe_log_groups()["logGroups"] == []
    assert made.client("cloudwatch").describe_alarms()["MetricAlarms"] == []
    assert made.client("secretsmanager").list_secrets()["SecretList"] == []
    left = made.client("sqs").list_queues()["QueueUrls"]
    names = {made.ids[name].rpartition("/")[2] for name in ("Queue", "DeadLetters")}
    assert {url.rpartition("/")[2] for url in left} == names
