"""Events rewritten so that one kind of backend takes them and loses least: pure functions."""

from throughline.deliver.rewrite.datazone import DATAZONE
from throughline.deliver.rewrite.rewriting import Rewrite, Rewriting

REWRITINGS = {"datazone": DATAZONE}
"""By the `type` of a backend."""

__all__ = ["REWRITINGS", "Rewrite", "Rewriting"]
