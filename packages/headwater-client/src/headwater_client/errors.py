"""Errors of this package."""

from __future__ import annotations

__all__ = ["ConfigError"]


class ConfigError(Exception):
    """A file, an option or an environment variable has an invalid value."""
