"""An AWS stand-in: moto's server, taught the resources that its CloudFormation skips.

moto's CloudFormation knows no Glue database and no bucket policy, says CREATE_COMPLETE all the
same, and of a bucket it takes the name and encryption only; it deletes a bucket that is not
empty, which AWS does not; and a change set leaves the stack without outputs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
from moto.cloudformation import parsing
from moto.cloudformation.models import ChangeSet
from moto.core.common_models import CloudFormationModel
from moto.glue.models import glue_backends
from moto.s3.models import FakeBucket, S3Backend, s3_backends
from moto.server import ThreadedMotoServer

from infra.aws import Aws, Dialogue, connect
from infra.names import bucket_name
from infra.stack import apply_stack
from lakehouse.settings import Settings, load_settings

Json = dict[str, Any]


def _s3(account: str) -> S3Backend:
    return s3_backends[account]["aws"]


def _lifecycle_rule(rule: Json) -> Json:
    """A rule of CloudFormation's as S3's own API words it."""
    rule = rule | {"ID": rule["Id"], "Filter": {"Prefix": ""}}
    if rule.pop("ExpiredObjectDeleteMarker", False):
        rule["Expiration"] = {"ExpiredObjectDeleteMarker": "true"}
    return rule


class Resource:
    """What the resources below have in common; moto only finds direct subclasses of its model."""

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
    """A bucket with every property of ours, which is only deleted when it is empty."""

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
        given, s3 = cloudformation_json["Properties"], _s3(account_id)
        s3.put_bucket_versioning(name, given["VersioningConfiguration"]["Status"])
        s3.put_public_access_block(name, given["PublicAccessBlockConfiguration"])
        s3.put_bucket_ownership_controls(
            name, given["OwnershipControls"]["Rules"][0]["ObjectOwnership"]
        )
        s3.put_bucket_lifecycle(
            name,
            [_lifecycle_rule(rule) for rule in given["LifecycleConfiguration"]["Rules"]],
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
        if _s3(account_id).delete_bucket(resource_name) is None:
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
        given = cloudformation_json["Properties"]
        _s3(account_id).put_bucket_policy(
            given["Bucket"], json.dumps(given["PolicyDocument"]).encode()
        )
        return cls(given["Bucket"])

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        if resource_name in _s3(account_id).buckets:
            _s3(account_id).delete_bucket_policy(resource_name)


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
        given = cloudformation_json["Properties"]["DatabaseInput"]
        glue_backends[account_id][region_name].create_database(given["Name"], given)
        return cls(given["Name"])

    @classmethod
    def delete_from_cloudformation_json(
        cls, resource_name: str, cloudformation_json: Json, account_id: str, region_name: str
    ) -> None:
        glue_backends[account_id][region_name].delete_database(resource_name)


_apply = ChangeSet.apply


def _apply_with_outputs(change_set: ChangeSet) -> None:
    _apply(change_set)
    stack = change_set.stack
    stack.template, stack.parameters = change_set.template, change_set.parameters
    stack._parse_template()
    stack.output_map = stack._create_output_map()


@pytest.fixture(autouse=True)
def aws_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Credentials of the stand-in, and nothing of this machine's AWS."""
    for name in os.environ:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


@pytest.fixture(scope="session")
def stand_in() -> Iterator[str]:
    """URL of the stand-in."""
    for cached in (parsing.get_model_list, parsing.get_model_map, parsing.get_name_type_map):
        cached.cache_clear()
    server = ThreadedMotoServer(port=0, verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChangeSet, "apply", _apply_with_outputs)
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


@pytest.fixture
def endpoint(stand_in: str) -> str:
    """URL of the stand-in, which holds nothing."""
    httpx.post(f"{stand_in}/moto-api/reset").raise_for_status()
    return stand_in


@pytest.fixture
def settings(endpoint: str, tmp_path: Path) -> Settings:
    """Settings of the stand-in."""
    return load_settings(state_dir=tmp_path / "state", aws_endpoint_url=endpoint)


@pytest.fixture
def aws(settings: Settings) -> Aws:
    """The stand-in's account."""
    return connect(settings, None)


@pytest.fixture
def bucket(aws: Aws) -> str:
    """The bucket of a stack that create-infra has made.

    Without its policy, which moto takes for "deny everything": it does not look at conditions.
    """
    apply_stack(aws, Dialogue(say=lambda _: None, confirm=lambda _: True))
    name = bucket_name(aws.account, aws.region)
    _s3(aws.account).delete_bucket_policy(name)
    return name
