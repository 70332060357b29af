"""Format numbers and durations."""

from __future__ import annotations

__all__ = ["counted", "duration_of"]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration_of(milliseconds: int) -> str:
    """Format a duration in milliseconds, with the precision that suits its length."""
    seconds = milliseconds / 1_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
