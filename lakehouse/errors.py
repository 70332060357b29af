"""Errors of the pipeline.

PipelineError
├── SettingsError      a setting has an invalid value
├── NotPublished       a source has no such file (yet)
├── BadSourceFile      a source file is invalid
├── ChecksFailed       a critical check failed before publishing
├── Conflict           another run wrote the same rows at the same time
└── SetupError         a required program or port is missing or in use
"""

from __future__ import annotations


class PipelineError(Exception):
    """Base class of all errors whose message is shown to the user."""


class SettingsError(PipelineError):
    """A setting holds a value that is not allowed."""


class NotPublished(PipelineError):
    """The source has no file of that name."""


class BadSourceFile(PipelineError):
    """A source file is broken or has another schema."""


class ChecksFailed(PipelineError):
    """A critical check failed; nothing was published."""


class Conflict(PipelineError):
    """Another run wrote the same partition of a table in the meantime; its rows are kept."""


class SetupError(PipelineError):
    """A program, port or folder that a command needs is missing or in use."""
