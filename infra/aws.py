"""Clients for an AWS account, and translation of AWS errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.errors import (
    CredentialsRefused,
    InfraError,
    NoCredentials,
    NotAllowed,
    Unreachable,
    WrongAccount,
)
from lakehouse.settings import Settings

if TYPE_CHECKING:
    from boto3 import Session
    from botocore.exceptions import ClientError
    from mypy_boto3_athena import AthenaClient
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_emr_serverless import EMRServerlessClient
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client

EXPIRED = {"ExpiredToken", "ExpiredTokenException", "RequestExpired"}
UNKNOWN = {
    "AuthFailure",
    "IncompleteSignature",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidToken",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403", "Forbidden"}


@dataclass(frozen=True)
class Aws:
    """An account and region with clients of the required services."""

    account: str
    region: str
    cloudformation: CloudFormationClient
    s3: S3Client
    glue: GlueClient
    emr: EMRServerlessClient
    athena: AthenaClient


@dataclass(frozen=True)
class Dialogue:
    """Functions that print a line and ask the user for confirmation."""

    say: Callable[[str], None]
    confirm: Callable[[str], bool]


def connect(settings: Settings) -> Aws:
    """Connect to the account of the credentials, in the region of the settings.

    Raises:
        InfraError: there are no credentials, AWS rejects them, or they belong to another account
            than AWS_ACCOUNT.
    """
    from botocore.config import Config

    session = _session(settings.aws_profile or None, settings.aws_region)
    endpoint = settings.aws_endpoint_url or None
    config = Config(
        retries={"mode": "standard", "max_attempts": 5},
        connect_timeout=10,
        s3={"addressing_style": "path" if endpoint else "auto"},
    )
    with explained():
        sts = session.client("sts", endpoint_url=endpoint, config=config)
        account = sts.get_caller_identity()["Account"]
    if settings.aws_account not in ("", account):
        raise WrongAccount(
            f"The credentials belong to account {account}, but AWS_ACCOUNT is "
            f"{settings.aws_account}. Pass the --profile of that account, or change the setting."
        )
    return Aws(
        account=account,
        region=settings.aws_region,
        cloudformation=session.client("cloudformation", endpoint_url=endpoint, config=config),
        s3=session.client("s3", endpoint_url=endpoint, config=config),
        glue=session.client("glue", endpoint_url=endpoint, config=config),
        emr=session.client("emr-serverless", endpoint_url=endpoint, config=config),
        athena=session.client("athena", endpoint_url=endpoint, config=config),
    )


def _session(profile: str | None, region: str) -> Session:
    import boto3
    from botocore.exceptions import ProfileNotFound

    try:
        return boto3.Session(profile_name=profile, region_name=region)
    except ProfileNotFound:
        profiles = ", ".join(boto3.Session(region_name=region).available_profiles) or "none"
        raise NoCredentials(
            f"There is no AWS profile {profile!r}; found in ~/.aws: {profiles}. "
            "Create one with `aws configure sso`."
        ) from None


@contextmanager
def explained() -> Iterator[None]:
    """Re-raise botocore errors as InfraError."""
    from botocore import exceptions as boto

    try:
        yield
    except (boto.NoCredentialsError, boto.PartialCredentialsError) as error:
        raise NoCredentials(
            f"{_sentence(error)} Log in (`aws sso login --profile NAME`) and pass that --profile, "
            "or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        ) from error
    except (boto.SSOError, boto.TokenRetrievalError, boto.CredentialRetrievalError) as error:
        raise CredentialsRefused(
            f"{_sentence(error)} Log in again: `aws sso login --profile NAME`."
        ) from error
    except boto.ClientError as error:
        raise _refusal(error) from error
    except (boto.HTTPClientError, boto.ConnectionError) as error:
        raise Unreachable(
            f"{_sentence(error)} Check the network, AWS_REGION and AWS_ENDPOINT_URL."
        ) from error


def _refusal(error: ClientError) -> InfraError:
    code = error.response["Error"].get("Code", "")
    text = f"AWS rejected {error.operation_name}: {error.response['Error'].get('Message', code)}"
    text = text.rstrip(".") + f" ({code})."
    if code in EXPIRED:
        return CredentialsRefused(
            f"{text} The session has expired. Log in again (`aws sso login --profile NAME`), or "
            "set new AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN."
        )
    if code in UNKNOWN:
        return CredentialsRefused(
            f"{text} AWS does not recognize these credentials. Check --profile, or the AWS_* "
            "variables, which override a profile's file."
        )
    if code in DENIED:
        return NotAllowed(
            f"{text} Ask the account's administrator for the permission, or use another --profile. "
            "infra/README.md lists the permissions that these commands need."
        )
    return InfraError(text)


def _sentence(error: Exception) -> str:
    return str(error).rstrip(".") + "."
