"""Queries of versions and incidents."""

from headwater.incidents._incident import incident_answer
from headwater.incidents._taints import taints_answer
from headwater.incidents._version import version_answer

__all__ = ["incident_answer", "taints_answer", "version_answer"]
