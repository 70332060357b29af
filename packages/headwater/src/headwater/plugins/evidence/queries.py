"""Queries of the evidence of edges, and of the producers of a column."""

from headwater.plugins.evidence._column_producers import column_answer
from headwater.plugins.evidence._why import why_answer

__all__ = ["column_answer", "why_answer"]
