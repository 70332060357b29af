"""Apply the AWS profile of the settings to every program that uses AWS.

boto3 and AWS's SDK for Java read AWS_PROFILE. PyArrow's S3 supports neither a profile's endpoint
nor its roles. Iceberg's Java clients get the endpoint explicitly, as with `aws_endpoint_url`.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from lakehouse.errors import SettingsError
from lakehouse.settings import Settings

if TYPE_CHECKING:
    from botocore.session import Session

KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def use_profile(settings: Settings, environ: MutableMapping[str, str]) -> None:
    """Set the profile in an environment and remove any keys from it."""
    if settings.aws_profile:
        for name in KEYS:
            environ.pop(name, None)
        environ["AWS_PROFILE"] = settings.aws_profile


def endpoint(settings: Settings, service: str) -> str:
    """Return a service's endpoint from the settings or the profile; empty for AWS's own."""
    if settings.aws_endpoint_url or not settings.aws_profile:
        return settings.aws_endpoint_url
    from botocore.configprovider import ConfiguredEndpointProvider

    session = _session(settings)
    provider = ConfiguredEndpointProvider(session.full_config, session.get_scoped_config(), service)
    return str(provider.provide() or "")


def credentials(settings: Settings) -> dict[str, str]:
    """Return the profile's current credentials by variable name; empty without a profile.

    Raises:
        SettingsError: the profile has no credentials.
    """
    if not settings.aws_profile:
        return {}
    session_credentials = _session(settings).get_credentials()
    if session_credentials is None:
        raise SettingsError(
            f"The AWS profile {settings.aws_profile!r} has no credentials. Log in with "
            f"`aws sso login --profile {settings.aws_profile}`, or add keys or a role to it."
        )
    frozen = session_credentials.get_frozen_credentials()
    pairs = zip(KEYS, (frozen.access_key, frozen.secret_key, frozen.token), strict=True)
    return {name: value for name, value in pairs if value}


def _session(settings: Settings) -> Session:
    """Return a botocore session with the profile.

    Raises:
        SettingsError: there is no such profile.
    """
    from botocore.exceptions import ProfileNotFound
    from botocore.session import Session

    session = Session(profile=settings.aws_profile)
    try:
        session.get_scoped_config()
    except ProfileNotFound:
        profiles = ", ".join(session.available_profiles) or "none"
        raise SettingsError(
            f"There is no AWS profile {settings.aws_profile!r}; found in ~/.aws: {profiles}. "
            "Create one with `aws configure sso`."
        ) from None
    return session
