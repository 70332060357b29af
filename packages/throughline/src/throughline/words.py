"""Numbers as people read them."""

from __future__ import annotations

__all__ = ["counted", "duration_of"]


def counted(number: int, what: str) -> str:
    """A number of things, in the plural unless it is one."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration_of(milliseconds: int) -> str:
    """A duration, rounded the more the longer it is."""
    seconds = milliseconds / 1_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
