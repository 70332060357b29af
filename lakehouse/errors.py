"""Errors of the pipeline.

PipelineError
├── SettingsError      a setting holds what it must not
├── NotPublished       a source has no such file (yet)
├── BadSourceFile      a source file cannot be taken as it is
├── ChecksFailed       a critical check failed on what would be published
├── Conflict           somebody else wrote the same rows at the same time
└── SetupError         a program or port the project needs is missing
"""

from __future__ import annotations


class PipelineError(Exception):
    """Base of all errors that a user of the pipeline is meant to read."""


class SettingsError(PipelineError):
    """A setting holds a value that is not allowed."""


class NotPublished(PipelineError):
    """The source has no file of that name."""


class BadSourceFile(PipelineError):
    """A source file is broken or of another schema."""


class ChecksFailed(PipelineError):
    """A critical check failed; nothing was published."""


class Conflict(PipelineError):
    """Somebody else wrote the same partition of a table meanwhile; theirs is kept."""


class SetupError(PipelineError):
    """Something the commands need on this machine is missing or taken."""
