"""Query of provenance."""

from headwater.plugins.provenance._answer import provenance_answer

__all__ = ["provenance_answer"]
