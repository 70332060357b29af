"""Errors of the infrastructure commands; each message says what to do.

InfraError             (a PipelineError)
├── NoCredentials      no credentials, or no such profile
├── CredentialsRefused AWS rejects the credentials, for example because they expired
├── WrongAccount       the credentials belong to another account than the settings
├── NotAllowed         the credentials lack a permission
├── Unreachable        the endpoint does not respond
└── StackFailed        CloudFormation cannot make the change
"""

from __future__ import annotations

from lakehouse.errors import PipelineError


class InfraError(PipelineError):
    """Base class of all errors of the infrastructure commands."""


class NoCredentials(InfraError):
    """There are no AWS credentials."""


class CredentialsRefused(InfraError):
    """AWS rejects the credentials."""


class WrongAccount(InfraError):
    """The credentials belong to another account than the settings."""


class NotAllowed(InfraError):
    """The credentials lack a permission."""


class Unreachable(InfraError):
    """The endpoint does not respond."""


class StackFailed(InfraError):
    """The stack could not be changed, or its state does not allow a change."""
