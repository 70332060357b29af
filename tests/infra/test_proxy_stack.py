"""The OpenLineage proxy's stack on the stand-in, read through each service's API."""

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
assert stand_in_proxy  # its import registers the classes in moto


class ProxyStack:
    """A stack and clients of its account."""

    def __init__(self, settings: Settings, kind: str) -> None:
        self._settings = settings
        self.kind = kind
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w") as file:
            file.writestr("none.py", "")
        s3 = self.client("s3")
        s3.create_bucket(Bucket=CODE)
        s3.put_object(Bucket=CODE, Key="1.zip", Body=zipped.getvalue())
        parameters = {
            "DomainId": "dzd_standin",
            "CodeBucket": CODE,
            "CodeKey": "1.zip",
            "QueueKind": kind,
            "AlarmTopic": TOPIC,
        }
        self.client("cloudformation").create_stack(
            StackName=STACK,
            TemplateBody=TEMPLATE,
            Parameters=[{"ParameterKey": k, "ParameterValue": v} for k, v in parameters.items()],
            Capabilities=["CAPABILITY_IAM"],
        )
        listing = self.client("cloudformation").list_stack_resources(StackName=STACK)
        resources = listing["StackResourceSummaries"]
        self.ids = {
            resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in resources
        }

    def client(self, service: Any) -> Any:
        """Return a client of a service in the account."""
        region, url = self._settings.aws_region, self._settings.aws_endpoint_url
        return boto3.client(service, region_name=region, endpoint_url=url)

    def function(self, name: str) -> Json:
        """Return the configuration of a function in Lambda."""
        response: Json = self.client("lambda").get_function(FunctionName=self.ids[name])
        return dict(response["Configuration"])

    def queue(self, name: str) -> Json:
        """Return the attributes of a queue."""
        query = {"QueueUrl": self.ids[name], "AttributeNames": ["All"]}
        return dict(self.client("sqs").get_queue_attributes(**query)["Attributes"])


@pytest.fixture(params=["standard", "fifo"])
def stack(settings: Settings, request: pytest.FixtureRequest) -> ProxyStack:
    """Create the stack with each kind of queue."""
    return ProxyStack(settings, request.param)


def test_every_template_resource_is_created(stack: ProxyStack) -> None:
    template = Stack.parse_template(TEMPLATE)
    assert set(stack.ids) == set(template["Resources"])


def test_queue_has_a_dead_letter_queue(stack: ProxyStack) -> None:
    queue, dead = stack.queue("Queue"), stack.queue("DeadLetters")
    redrive = json.loads(queue["RedrivePolicy"])
    assert (redrive["deadLetterTargetArn"], redrive["maxReceiveCount"]) == (dead["QueueArn"], 1000)
    for attributes in (queue, dead):
        assert attributes.get("FifoQueue", "false") == str(stack.kind == "fifo").lower()
        assert attributes["QueueArn"].endswith(".fifo") == (stack.kind == "fifo")
        (statement,) = json.loads(attributes["Policy"])["Statement"]
        assert statement["Resource"] == [queue["QueueArn"], dead["QueueArn"]]


def test_each_role_is_limited_to_its_functions_resources(stack: ProxyStack) -> None:
    iam = stack.client("iam")
    queue, dead = stack.queue("Queue")["QueueArn"], stack.queue("DeadLetters")["QueueArn"]
    logs = stack.client("logs").describe_log_groups()["logGroups"]
    # On AWS, GetAtt also ends with ":*", for the log's streams.
    arns = {group["logGroupName"]: group["arn"].removesuffix(":*") for group in logs}
    allowed = {
        "Authorizer": {stack.ids["Key"]},
        "Receiver": {queue},
        "Worker": {queue, dead, "*"},
        "Audit": {"*"},
    }
    for name, resources in allowed.items():
        role = stack.ids[f"{name}Role"]
        assert stack.function(name)["Role"].endswith(f"/{role}")
        (policy,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
        document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
        statements = yaml.safe_load(document)["Statement"]  # moto returns no JSON
        statement_resources = {statement["Resource"] for statement in statements}
        assert statement_resources == resources | {arns[stack.ids[f"{name}Log"]]}
    assert {group["retentionInDays"] for group in logs} == {30}


def test_functions_receive_queue_and_key_locations(stack: ProxyStack) -> None:
    def environment(name: str) -> Json:
        return dict(stack.function(name)["Environment"]["Variables"])

    assert environment("Authorizer") == {"KEY_SECRET": stack.ids["Key"]}
    assert environment("Receiver") == {"QUEUE_URL": stack.ids["Queue"]}
    worker = environment("Worker")
    assert (worker["QUEUE_URL"], worker["DEAD_LETTER_URL"]) == (
        stack.ids["Queue"],
        stack.ids["DeadLetters"],
    )
    assert (worker["DOMAIN_ID"], worker["ACCOUNT"]) == ("dzd_standin", "123456789012")
    key = stack.client("secretsmanager").get_secret_value(SecretId=stack.ids["Key"])["SecretString"]
    assert len(key) == 48
    assert key.isalnum()


def test_api_invokes_receiver_and_queue_invokes_worker(
    stack: ProxyStack,
) -> None:
    gateway = stack.client("apigatewayv2")
    (api,) = gateway.get_apis()["Items"]
    of_api = {"ApiId": api["ApiId"]}
    (route,) = gateway.get_routes(**of_api)["Items"]
    (integration,) = gateway.get_integrations(**of_api)["Items"]
    authorizer = gateway.get_authorizer(**of_api, AuthorizerId=stack.ids["KeyCheck"])
    (stage,) = gateway.get_stages(**of_api)["Items"]
    assert route["RouteKey"] == "POST /api/v1/lineage"
    assert route["Target"] == f"integrations/{integration['IntegrationId']}"
    assert route["AuthorizerId"] == authorizer["AuthorizerId"]
    assert integration["IntegrationUri"] == stack.function("Receiver")["FunctionArn"]
    assert f"/{stack.function('Authorizer')['FunctionArn']}/" in authorizer["AuthorizerUri"]
    assert stage["StageName"] == "$default"
    (mapping,) = stack.client("lambda").list_event_source_mappings()["EventSourceMappings"]
    assert mapping["EventSourceArn"] == stack.queue("Queue")["QueueArn"]
    assert mapping["FunctionArn"] == stack.function("Worker")["FunctionArn"]
    assert mapping["BatchSize"] == 10


def test_callers_have_permission_to_invoke_functions(stack: ProxyStack) -> None:
    (api,) = stack.client("apigatewayv2").get_apis()["Items"]
    (rule,) = stack.client("events").list_rules()["Rules"]
    (target,) = stack.client("events").list_targets_by_rule(Rule=rule["Name"])["Targets"]
    assert target["Arn"] == stack.function("Audit")["FunctionArn"]
    callers = {
        "Authorizer": ("apigateway", f":{api['ApiId']}/authorizers/{stack.ids['KeyCheck']}"),
        "Receiver": ("apigateway", f":{api['ApiId']}/*/POST/api/v1/lineage"),
        "Audit": ("events", f":rule/{rule['Name']}"),
    }
    for name, (service, source) in callers.items():
        policy = stack.client("lambda").get_policy(FunctionName=stack.ids[name])["Policy"]
        (statement,) = json.loads(policy)["Statement"]
        assert statement["Principal"] == {"Service": f"{service}.amazonaws.com"}
        assert statement["Condition"]["ArnLike"]["AWS:SourceArn"].endswith(source)


def test_alarms_watch_the_queues_and_notify_the_topic(stack: ProxyStack) -> None:
    alarms = stack.client("cloudwatch").describe_alarms()["MetricAlarms"]
    assert {alarm["AlarmActions"][0] for alarm in alarms} == {TOPIC}
    looked = {
        alarm["MetricName"]: alarm["Dimensions"][0]["Value"]
        for alarm in alarms
        if alarm["Namespace"] == "AWS/SQS"
    }
    assert looked == {
        "ApproximateNumberOfMessagesVisible": stack.queue("DeadLetters")["QueueArn"].split(":")[-1],
        "ApproximateAgeOfOldestMessage": stack.queue("Queue")["QueueArn"].split(":")[-1],
    }


def test_outputs_match_the_guides_settings(stack: ProxyStack) -> None:
    (described,) = stack.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    values = outputs(described) or {}
    url = f"https://{stack.ids['Api']}.execute-api.us-east-1.amazonaws.com"
    assert values["Url"] == url
    assert stack.ids["Key"] in values["KeyCommand"]
    assert values["DeadLetters"] == stack.ids["DeadLetters"]
    placeholders = {"https://PROXY": url, "MY_BUCKET": CODE, "111122223333": "123456789012"}
    for name, heading in (
        ("SparkParameters", "Spark"),
        ("AirflowEnvironment", "Airflow"),
        ("DbtEnvironment", "dbt"),
    ):
        expected = block(heading).removesuffix("dbt-ol run\n").strip()
        for placeholder, value in placeholders.items():
            expected = expected.replace(placeholder, value)
        assert values[name] == expected


def test_deleted_stack_leaves_only_the_queues(stack: ProxyStack) -> None:
    stack.client("cloudformation").delete_stack(StackName=STACK)
    assert stack.client("lambda").list_functions()["Functions"] == []
    assert stack.client("iam").list_roles()["Roles"] == []
    assert stack.client("apigatewayv2").get_apis()["Items"] == []
    assert stack.client("logs").describe_log_groups()["logGroups"] == []
    assert stack.client("cloudwatch").describe_alarms()["MetricAlarms"] == []
    assert stack.client("secretsmanager").list_secrets()["SecretList"] == []
    left = stack.client("sqs").list_queues()["QueueUrls"]
    names = {stack.ids[name].rpartition("/")[2] for name in ("Queue", "DeadLetters")}
    assert {url.rpartition("/")[2] for url in left} == names
