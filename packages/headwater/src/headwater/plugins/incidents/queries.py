"""Queries of versions and incidents."""

from headwater.plugins.incidents._incident import incident_answer
from headwater.plugins.incidents._taints import taints_answer
from headwater.plugins.incidents._version import version_answer

__all__ = ["incident_answer", "taints_answer", "version_answer"]
