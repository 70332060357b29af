"""Queries of versions."""

from headwater.incidents._version import version_answer

__all__ = ["version_answer"]
