"""Errors of setting up AWS; each message says what to do.

InfraError             (a PipelineError)
├── NoCredentials      no credentials, or no such profile
├── CredentialsRefused they have expired, or AWS does not know them
├── WrongAccount       they are of another account than the settings name
├── NotAllowed         they lack a permission
├── Unreachable        no answer from the endpoint
└── StackFailed        CloudFormation could not, or cannot now, do it
"""

from __future__ import annotations

from lakehouse.errors import PipelineError


class InfraError(PipelineError):
    """Base of all errors of the infrastructure commands."""


class NoCredentials(InfraError):
    """There are no AWS credentials to use."""


class CredentialsRefused(InfraError):
    """AWS does not accept the credentials."""


class WrongAccount(InfraError):
    """The credentials belong to another account than the settings name."""


class NotAllowed(InfraError):
    """The credentials lack a permission."""


class Unreachable(InfraError):
    """The endpoint does not answer."""


class StackFailed(InfraError):
    """The stack could not be changed, or is in a state in which it cannot be."""
