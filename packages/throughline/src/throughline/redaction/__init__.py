"""Mask secrets in events, rejected lines, errors, alerts and log lines."""

from throughline.redaction.redact import (
    is_suspicious,
    redact,
    redact_line,
    redact_text,
    use_rules,
)
from throughline.redaction.rules import MASK

__all__ = ["MASK", "is_suspicious", "redact", "redact_line", "redact_text", "use_rules"]
