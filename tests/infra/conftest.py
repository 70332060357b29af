"""Fixtures: an environment without an AWS account, and a stand-in for AWS."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import botocore.session
import httpx
import pytest
from botocore.loaders import create_loader

from infra.aws import Aws, Dialogue, connect
from infra.names import bucket_name
from infra.stack import apply_stack
from lakehouse.settings import Settings, load_settings


def isolate(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Set the stand-in's credentials and hide this machine's AWS configuration."""
    for name in os.environ:
        if name.startswith("AWS_"):
            patch.delenv(name)
    patch.setenv("AWS_CONFIG_FILE", str(folder / "no-config"))
    patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "no-credentials"))
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    patch.setenv("AWS_ACCESS_KEY_ID", "testing")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


PROFILE = "sandbox"
"""The profile name of `write_profile`."""


def write_profile(folder: Path, endpoint: str) -> Path:
    """Write a config file in which only the profile has the stand-in's endpoint."""
    file = folder / "config"
    lines = ("aws_access_key_id = of-the-profile", "aws_secret_access_key = s3cret")
    file.write_text("\n".join([f"[profile {PROFILE}]", *lines, f"endpoint_url = {endpoint}", ""]))
    return file


def use_config(patch: pytest.MonkeyPatch, file: Path) -> None:
    """Make AWS tools read a config file, with keys of another account in the environment."""
    patch.setenv("AWS_CONFIG_FILE", str(file))
    patch.setenv("AWS_ACCESS_KEY_ID", "of-another-account")
    patch.setenv("AWS_SESSION_TOKEN", "of-another-account")


@pytest.fixture(autouse=True, scope="package")
def shared_models() -> Iterator[None]:
    """Parse the models of AWS's services once, not for each session of boto3."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", cache(create_loader))
        yield


@pytest.fixture(autouse=True)
def aws_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Isolate the environment of each test."""
    isolate(monkeypatch, tmp_path)


@pytest.fixture
def profile(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a profile that is the only way to reach the empty stand-in."""
    use_config(monkeypatch, write_profile(tmp_path, endpoint))
    return PROFILE


@pytest.fixture(scope="session")
def stand_in() -> Iterator[str]:
    """Start the stand-in and return its URL."""
    from tests.infra.stand_in import running  # slow to import

    with running() as url:
        yield url


@pytest.fixture
def endpoint(stand_in: str) -> str:
    """Return the URL of the emptied stand-in."""
    from tests.infra import stand_in_resources  # slow to import

    httpx.post(f"{stand_in}/moto-api/reset").raise_for_status()
    stand_in_resources.DATAZONE.clear()
    return stand_in


@pytest.fixture
def settings(endpoint: str, tmp_path: Path) -> Settings:
    """Return settings for the stand-in."""
    return load_settings(state_dir=tmp_path / "state", aws_endpoint_url=endpoint)


@pytest.fixture
def aws(settings: Settings) -> Aws:
    """Return the stand-in's account."""
    return connect(settings)


@pytest.fixture
def bucket(aws: Aws) -> str:
    """Return the bucket of a stack that create-infra created.

    Its policy is removed, because moto ignores conditions and would deny everything.
    """
    from tests.infra import stand_in_resources  # slow to import

    apply_stack(aws, Dialogue(say=lambda _: None, confirm=lambda _: True))
    name = bucket_name(aws.account, aws.region)
    stand_in_resources.s3_of(aws.account).delete_bucket_policy(name)
    return name
