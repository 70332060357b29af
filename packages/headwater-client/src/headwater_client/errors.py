"""Errors of this package."""

from __future__ import annotations

__all__ = ["ConfigError"]


class ConfigError(Exception):
    """A file, an option or a variable has a value that cannot be used."""
