"""Resources that moto's CloudFormation ignores or supports only partly.

moto's CloudFormation ignores Glue databases, bucket policies, EMR Serverless applications and all
of DataZone, but reports CREATE_COMPLETE. For a bucket it only uses name and encryption, and unlike
AWS it deletes a bucket that is not empty.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Self

from moto.core.common_models import CloudFormationModel
from moto.core.responses import ActionResult
from moto.emrserverless import models as emr
from moto.glue.exceptions import GlueClientError
from moto.glue.models import glue_backends
from moto.glue.responses import GlueResponse
from moto.s3.models import FakeBucket, S3Backend, s3_backends

Json = dict[str, Any]


def s3_of(account: str) -> S3Backend:
    """Return the S3 backend of an account."""
    return s3_backends[account]["aws"]


class ConcurrentModificationException(GlueClientError):
    """Glue's error for an update of an outdated table version."""

    def __init__(self) -> None:
        super().__init__(
            "ConcurrentModificationException",
            "Update table failed due to concurrent modifications.",
        )


_update_table = GlueResponse.update_table
_updating = threading.Lock()


def update_table(response: GlueResponse) -> ActionResult:
    """Update a table with the check of its version, which moto omits and so loses commits."""
    parameters = response.parameters
    with _updating:
        table = response.glue_backend.get_table(
            parameters["DatabaseName"], parameters["TableInput"]["Name"]
        )
        if parameters.get("VersionId") not in (None, table.as_dict()["VersionId"]):
            raise ConcurrentModificationException
        return _update_table(response)


def _lifecycle_rule(rule: Json) -> Json:
    """Convert a lifecycle rule of CloudFormation to S3's API."""
    rule = rule | {"ID": rule["Id"], "Filter": {"Prefix": rule.pop("Prefix", "")}}
    if days := rule.pop("ExpirationInDays", None):
        rule["Expiration"] = {"Days": days}
    if rule.pop("ExpiredObjectDeleteMarker", False):
        rule["Expiration"] = {"ExpiredObjectDeleteMarker": "true"}
    return rule


class Resource:
    """Base class of the resources below; moto only finds direct subclasses of its model."""

    def __init__(self, physical_resource_id: str) -> None:
        self.physical_resource_id = physical_resource_id

    @staticmethod
    def cloudformation_name_type() -> str:
        return ""

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        return False

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Self,
        new_resource_name: str,
        cloudformation_json: Json,
        account_id: str,
        region_name: str,
    ) -> Self:
        return original_resource

    def is_created(self) -> bool:
        return True


class Bucket(Resource, CloudFormationModel):
    """A bucket with all properties of the template, which is only deleted if it is empty."""

    @staticmethod
    def cloudformation_name_type() -> str:
        return "BucketName"

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::S3::Bucket"

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: Json,
        account_id: str,
        region_name: str,
        **kwargs: Any,
    ) -> Bucket:
        FakeBucket.create_from_cloudformation_json(
            resource_name, cloudformation_json, account_id, region_name
        )
        cls._configure(resource_name, cloudformation_json, account_id)
        return cls(resource_name)

    @classmethod
    def _configure(cls, name: str, cloudformation_json: Json, account_id: str) -> None:
        properties, s3 = cloudformation_json["Properties"], s3_of(account_id)
        s3.put_bucket_versioning(name, properties["VersioningConfiguration"]["Status"])
        s3.put_public_access_block(name, properties["PublicAccessBlockConfiguration"])
        s3.put_bucket_ownership_controls(
            name, properties["OwnershipControls"]["Rules"][0]["ObjectOwnership"]
        )
        s3.put_bucket_lifecycle(
            name,
            [_lifecycle_rule(rule) for rule in properties["LifecycleConfiguration"]["Rules"]],
        )

    @classmethod
    def update_from_cloudformation_json(
        cls,
        original_resource: Bucket,
        new_resource_name: str,
        cloudformation_json: Json,
        account_id: str,
        region_name: str,
    ) -> Bucket:
        cls._configure(original_resource.physical_resource_id, cloudformation_json, account_id)
        return original_resource

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        if s3_of(account_id).delete_bucket(resource_name) is None:
            raise ValueError(f"The bucket {resource_name} is not empty")


class BucketPolicy(Resource, CloudFormationModel):
    """A bucket's policy."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::S3::BucketPolicy"

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: Json,
        account_id: str,
        region_name: str,
        **kwargs: Any,
    ) -> BucketPolicy:
        properties = cloudformation_json["Properties"]
        s3_of(account_id).put_bucket_policy(
            properties["Bucket"], json.dumps(properties["PolicyDocument"]).encode()
        )
        return cls(properties["Bucket"])

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        if resource_name in s3_of(account_id).buckets:
            s3_of(account_id).delete_bucket_policy(resource_name)


class Database(Resource, CloudFormationModel):
    """A Glue database."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::Glue::Database"

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: Json,
        account_id: str,
        region_name: str,
        **kwargs: Any,
    ) -> Database:
        properties = cloudformation_json["Properties"]["DatabaseInput"]
        glue_backends[account_id][region_name].create_database(properties["Name"], properties)
        return cls(properties["Name"])

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        glue_backends[account_id][region_name].delete_database(resource_name)


class Application(Resource, CloudFormationModel):
    """An application of EMR Serverless."""

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::EMRServerless::Application"

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: Json,
        account_id: str,
        region_name: str,
        **kwargs: Any,
    ) -> Application:
        properties = cloudformation_json["Properties"]
        application = emr.Application(
            name=properties["Name"],
            release_label=properties["ReleaseLabel"],
            application_type=properties["Type"],
            client_token="",
            account_id=account_id,
            region_name=region_name,
            initial_capacity="",
            maximum_capacity=_camel(properties["MaximumCapacity"]),
            tags={},
            auto_start_configuration=_camel(properties["AutoStartConfiguration"]),
            auto_stop_configuration=_camel(properties["AutoStopConfiguration"]),
            network_configuration=_camel(properties.get("NetworkConfiguration")),
        )
        application.initial_capacity, application.state = None, "CREATED"  # type: ignore[assignment]
        backend = emr.emrserverless_backends[account_id][region_name]
        backend.applications[application.id], backend.job_runs[application.id] = application, []
        return cls(application.id)

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        emr.emrserverless_backends[account_id][region_name].delete_application(resource_name)


def _camel(value_: Any) -> Any:
    """Convert CloudFormation's names to those of the service's API."""
    if not isinstance(value_, dict):
        return value_
    return {name[0].lower() + name[1:]: _camel(value) for name, value in value_.items()}


DATAZONE: dict[str, Json] = {}
"""Existing DataZone resources by id."""


class DataZone(Resource):
    """A DataZone resource, whose properties are stored in `DATAZONE`."""

    prefix = ""

    @classmethod
    def has_cfn_attr(cls, attr: str) -> bool:
        return attr in ("Id", "PortalUrl")

    def get_cfn_attribute(self, attribute_name: str) -> str:
        own = self.physical_resource_id
        return own if attribute_name == "Id" else f"https://{own}.datazone.us-east-1.on.aws"

    @classmethod
    def create_from_cloudformation_json(
        cls,
        resource_name: str,
        cloudformation_json: Json,
        account_id: str,
        region_name: str,
        **kwargs: Any,
    ) -> Self:
        resource_id = f"{cls.prefix}{len(DATAZONE)}"
        DATAZONE[resource_id] = cloudformation_json["Properties"]
        return cls(resource_id)

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        del DATAZONE[resource_name]


class Domain(DataZone, CloudFormationModel):
    """A domain."""

    prefix = "dzd_standin"

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::DataZone::Domain"


class Project(DataZone, CloudFormationModel):
    """A project."""

    prefix = "project"

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::DataZone::Project"


class DataSource(DataZone, CloudFormationModel):
    """A data source."""

    prefix = "datasource"

    @staticmethod
    def cloudformation_type() -> str:
        return "AWS::DataZone::DataSource"
