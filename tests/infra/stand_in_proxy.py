"""Resources of the proxy's template that moto supports, but not in its CloudFormation."""

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
_NOTHING: Any = None  # value of omitted parameters of moto's services


class SimpleResource(Resource):
    """A resource that only depends on its properties."""

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: Json,
        account_id: str,
        region_name: str,
        **kwargs: Any,
    ) -> Self:
        properties = cloudformation_json["Properties"]
        return cls(cls.make(resource_name, properties, account_id, region_name))

    @staticmethod
    def make(name: str, properties: Json, account: str, region: str) -> str:
        """Create the resource and return its physical id."""
        raise NotImplementedError

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        """Do nothing, because the resource is deleted with the one it belongs to."""


class Secret(SimpleResource, CloudFormationModel):
    """A secret with a generated value."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::SecretsManager::Secret"

    @staticmethod
    def make(name: str, properties: Json, account: str, region: str) -> str:
        backend = secretsmanager_backends[account][region]
        options = properties["GenerateSecretString"]
        value = backend.get_random_password(
            password_length=options["PasswordLength"],
            exclude_characters="",
            exclude_numbers=False,
            exclude_punctuation=options["ExcludePunctuation"],
            exclude_uppercase=False,
            exclude_lowercase=False,
            include_space=False,
            require_each_included_type=True,
        )
        secret = backend.create_secret(
            name, json.loads(value)["RandomPassword"], None, properties["Description"],
            None, None, None, [], False,
        )  # fmt: skip
        return str(json.loads(secret)["ARN"])

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        secretsmanager_backends[account_id][region_name].delete_secret(resource_name, None, True)


class QueuePolicy(SimpleResource, CloudFormationModel):
    """The policy of queues."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::SQS::QueuePolicy"

    @staticmethod
    def make(name: str, properties: Json, account: str, region: str) -> str:
        for url in properties["Queues"]:
            policy = {"Policy": json.dumps(properties["PolicyDocument"])}
            queue = url.rpartition("/")[2]
            sqs_backends[account][region].set_queue_attributes(queue, policy)
        return name


class Alarm(SimpleResource, CloudFormationModel):
    """An alarm."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::CloudWatch::Alarm"

    @staticmethod
    def make(name: str, properties: Json, account: str, region: str) -> str:
        cloudwatch_backends[account][region].put_metric_alarm(
            name=name,
            namespace=properties["Namespace"],
            metric_name=properties["MetricName"],
            comparison_operator=properties["ComparisonOperator"],
            evaluation_periods=properties["EvaluationPeriods"],
            period=properties["Period"],
            threshold=properties["Threshold"],
            statistic=properties["Statistic"],
            description=properties["AlarmDescription"],
            dimensions=properties["Dimensions"],
            alarm_actions=properties.get("AlarmActions") or [],
            treat_missing_data=properties["TreatMissingData"],
        )
        return name

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        cloudwatch_backends[account_id][region_name].delete_alarms([resource_name])


def _gateway(account: str, region: str) -> ApiGatewayV2Backend:
    return apigatewayv2_backends[account][region]


class Api(SimpleResource, CloudFormationModel):
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
    def make(name: str, properties: Json, account: str, region: str) -> str:
        api = _gateway(account, region).create_api(
            api_key_selection_expression=_NOTHING,
            cors_configuration=_NOTHING,
            description=properties["Description"],
            disable_schema_validation=_NOTHING,
            disable_execute_api_endpoint=_NOTHING,
            name=properties["Name"],
            protocol_type=properties["ProtocolType"],
            route_selection_expression=_NOTHING,
            tags={},
            version=_NOTHING,
        )
        return str(api.api_id)

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        _gateway(account_id, region_name).delete_api(resource_name)


class Authorizer(SimpleResource, CloudFormationModel):
    """An authorizer."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::ApiGatewayV2::Authorizer"

    @staticmethod
    def make(name: str, properties: Json, account: str, region: str) -> str:
        return (
            _gateway(account, region)
            .create_authorizer(
                api_id=properties["ApiId"],
                auth_creds_arn=_NOTHING,
                auth_payload_format_version=properties["AuthorizerPayloadFormatVersion"],
                auth_result_ttl=properties["AuthorizerResultTtlInSeconds"],
                authorizer_uri=properties["AuthorizerUri"],
                authorizer_type=properties["AuthorizerType"],
                enable_simple_response=properties["EnableSimpleResponses"],
                identity_source=properties["IdentitySource"],
                identity_validation_expr=_NOTHING,
                jwt_config=_NOTHING,
                name=properties["Name"],
            )
            .id
        )


class Integration(SimpleResource, CloudFormationModel):
    """An integration."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::ApiGatewayV2::Integration"

    @staticmethod
    def make(name: str, properties: Json, account: str, region: str) -> str:
        integration = _gateway(account, region).create_integration(
            api_id=properties["ApiId"],
            connection_id="",
            connection_type="",
            content_handling_strategy="",
            credentials_arn="",
            description="",
            integration_method="POST",
            integration_subtype="",
            integration_type=properties["IntegrationType"],
            integration_uri=properties["IntegrationUri"],
            passthrough_behavior="",
            payload_format_version=properties["PayloadFormatVersion"],
            request_parameters=None,
            request_templates=None,
            response_parameters=None,
            template_selection_expression="",
            timeout_in_millis="",
            tls_config={},
        )
        return str(integration.id)


class Route(SimpleResource, CloudFormationModel):
    """A route."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::ApiGatewayV2::Route"

    @staticmethod
    def make(name: str, properties: Json, account: str, region: str) -> str:
        return (
            _gateway(account, region)
            .create_route(
                api_id=properties["ApiId"],
                api_key_required=False,
                authorization_scopes=[],
                authorization_type=properties["AuthorizationType"],
                authorizer_id=properties["AuthorizerId"],
                model_selection_expression="",
                operation_name="",
                request_models=None,
                request_parameters=None,
                route_key=properties["RouteKey"],
                route_response_selection_expression="",
                target=properties["Target"],
            )
            .route_id
        )


class Stage(SimpleResource, CloudFormationModel):
    """A stage."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::ApiGatewayV2::Stage"

    @staticmethod
    def make(name: str, properties: Json, account: str, region: str) -> str:
        config = {key[0].lower() + key[1:]: value for key, value in properties.items()}
        return str(_gateway(account, region).create_stage(properties["ApiId"], config).name)
