"""Queries of provenance."""

from headwater.plugins.provenance._answer import provenance_answer
from headwater.plugins.provenance._statement import statement_answer

__all__ = ["provenance_answer", "statement_answer"]
