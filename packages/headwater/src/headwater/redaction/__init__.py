"""Mask secrets in events, rejected lines, errors, alerts and log lines."""

from headwater.redaction._rules import MASK
from headwater.redaction.redact import DEFAULT, Redactor

__all__ = ["DEFAULT", "MASK", "Redactor"]
