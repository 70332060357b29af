"""Mask secrets in events, rejected lines, errors, alerts and log lines."""

from headwater.redaction._rules import MASK
from headwater.redaction.redact import is_suspicious, redact, redact_line, redact_text, use_rules

__all__ = ["MASK", "is_suspicious", "redact", "redact_line", "redact_text", "use_rules"]
