"""Alert rules, and the actions that run when one of them is violated."""

from throughline.alerts.answers import alerts_answer
from throughline.alerts.rules import Rule, read_rules
from throughline.alerts.watch import Watch

__all__ = ["Rule", "Watch", "alerts_answer", "read_rules"]
