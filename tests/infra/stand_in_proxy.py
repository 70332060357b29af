"""Resources of the proxy's template that moto's CloudFormation skips and its services have."""

from __future__ import annotations

import json
from typing import Any, Self

from moto.apigatewayv2.models import ApiGatewayV2Backend, apigatewayv2_backends
from moto.cloudwatch.models import cloudwatch_backends
from moto.core.common_models import CloudFormationModel
from moto.secretsmanager.models import secretsmanager_backends
from moto.sqs.models import sqs_backends

from tests.infra.stand_in_resources import Resource

Json = dict[str, Any]
_NOTHING: Any = None  # what moto's services are given for what was left out


class Made(Resource):
    """A resource that is made of its properties alone."""

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: Json,
        account_id: str,
        region_name: str,
        **kwargs: Any,
    ) -> Self:
        given = cloudformation_json["Properties"]
        return cls(cls.make(resource_name, given, account_id, region_name))

    @staticmethod
    def make(name: str, given: Json, account: str, region: str) -> str:
        """Make it; answers its physical id."""
        raise NotImplementedError

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        """What belongs to another resource goes with that."""


class Secret(Made, CloudFormationModel):
    """A secret with a generated value."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::SecretsManager::Secret"

    @staticmethod
    def make(name: str, given: Json, account: str, region: str) -> str:
        backend = secretsmanager_backends[account][region]
        asked = given["GenerateSecretString"]
        value = backend.get_random_password(
            password_length=asked["PasswordLength"],
            exclude_characters="",
            exclude_numbers=False,
            exclude_punctuation=asked["ExcludePunctuation"],
            exclude_uppercase=False,
            exclude_lowercase=False,
            include_space=False,
            require_each_included_type=True,
        )
        made = backend.create_secret(
            name, json.loads(value)["RandomPassword"], None, given["Description"], None, None, None,
            [], False,
        )  # fmt: skip
        return str(json.loads(made)["ARN"])

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        secretsmanager_backends[account_id][region_name].delete_secret(resource_name, None, True)


class QueuePolicy(Made, CloudFormationModel):
    """The policy of queues."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::SQS::QueuePolicy"

    @staticmethod
    def make(name: str, given: Json, account: str, region: str) -> str:
        for url in given["Queues"]:
            policy = {"Policy": json.dumps(given["PolicyDocument"])}
            queue = url.rpartition("/")[2]
            sqs_backends[account][region].set_queue_attributes(queue, policy)
        return name


class Alarm(Made, CloudFormationModel):
    """An alarm."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::CloudWatch::Alarm"

    @staticmethod
    def make(name: str, given: Json, account: str, region: str) -> str:
        cloudwatch_backends[account][region].put_metric_alarm(
            name=name,
            namespace=given["Namespace"],
            metric_name=given["MetricName"],
            comparison_operator=given["ComparisonOperator"],
            evaluation_periods=given["EvaluationPeriods"],
            period=given["Period"],
            threshold=given["Threshold"],
            statistic=given["Statistic"],
            description=given["AlarmDescription"],
            dimensions=given["Dimensions"],
            alarm_actions=given.get("AlarmActions") or [],
            treat_missing_data=given["TreatMissingData"],
        )
        return name

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        cloudwatch_backends[account_id][region_name].delete_alarms([resource_name])


def _gateway(account: str, region: str) -> ApiGatewayV2Backend:
    return apigatewayv2_backends[account][region]


class Api(Made, CloudFormationModel):
    """An HTTP API."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::ApiGatewayV2::Api"

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        return attr == "ApiEndpoint"

    def get_cfn_attribute(self, attribute_name: str) -> str:
        return f"https://{self.physical_resource_id}.execute-api.us-east-1.amazonaws.com"

    @staticmethod
    def make(name: str, given: Json, account: str, region: str) -> str:
        made = _gateway(account, region).create_api(
            api_key_selection_expression=_NOTHING,
            cors_configuration=_NOTHING,
            description=given["Description"],
            disable_schema_validation=_NOTHING,
            disable_execute_api_endpoint=_NOTHING,
            name=given["Name"],
            protocol_type=given["ProtocolType"],
            route_selection_expression=_NOTHING,
            tags={},
            version=_NOTHING,
        )
        return str(made.api_id)

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        _gateway(account_id, region_name).delete_api(resource_name)


class Authorizer(Made, CloudFormationModel):
    """Who is let in."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::ApiGatewayV2::Authorizer"

    @staticmethod
    def make(name: str, given: Json, account: str, region: str) -> str:
        return (
            _gateway(account, region)
            .create_authorizer(
                api_id=given["ApiId"],
                auth_creds_arn=_NOTHING,
                auth_payload_format_version=given["AuthorizerPayloadFormatVersion"],
                auth_result_ttl=given["AuthorizerResultTtlInSeconds"],
                authorizer_uri=given["AuthorizerUri"],
                authorizer_type=given["AuthorizerType"],
                enable_simple_response=given["EnableSimpleResponses"],
                identity_source=given["IdentitySource"],
                identity_validation_expr=_NOTHING,
                jwt_config=_NOTHING,
                name=given["Name"],
            )
            .id
        )


class Integration(Made, CloudFormationModel):
    """What answers."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::ApiGatewayV2::Integration"

    @staticmethod
    def make(name: str, given: Json, account: str, region: str) -> str:
        made = _gateway(account, region).create_integration(
            api_id=given["ApiId"],
            connection_id="",
            connection_type="",
            content_handling_strategy="",
            credentials_arn="",
            description="",
            integration_method="POST",
            integration_subtype="",
            integration_type=given["IntegrationType"],
            integration_uri=given["IntegrationUri"],
            passthrough_behavior="",
            payload_format_version=given["PayloadFormatVersion"],
            request_parameters=None,
            request_templates=None,
            response_parameters=None,
            template_selection_expression="",
            timeout_in_millis="",
            tls_config={},
        )
        return str(made.id)


class Route(Made, CloudFormationModel):
    """What is asked."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::ApiGatewayV2::Route"

    @staticmethod
    def make(name: str, given: Json, account: str, region: str) -> str:
        return (
            _gateway(account, region)
            .create_route(
                api_id=given["ApiId"],
                api_key_required=False,
                authorization_scopes=[],
                authorization_type=given["AuthorizationType"],
                authorizer_id=given["AuthorizerId"],
                model_selection_expression="",
                operation_name="",
                request_models=None,
                request_parameters=None,
                route_key=given["RouteKey"],
                route_response_selection_expression="",
                target=given["Target"],
            )
            .route_id
        )


class Stage(Made, CloudFormationModel):
    """Where it answers."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::ApiGatewayV2::Stage"

    @staticmethod
    def make(name: str, given: Json, account: str, region: str) -> str:
        config = {key[0].lower() + key[1:]: value for key, value in given.items()}
        return str(_gateway(account, region).create_stage(given["ApiId"], config).name)
