"""Rules over what is known, and who is called when one of them is broken."""

from throughline.alerts.answers import alerts_answer
from throughline.alerts.rules import Rule, read_rules
from throughline.alerts.watch import Watch

__all__ = ["Rule", "Watch", "alerts_answer", "read_rules"]
