"""The name `throughline`, which headwater had until November 2026."""

from __future__ import annotations

from collections.abc import MutableMapping

__all__ = ["adopt"]


def adopt(environ: MutableMapping[str, str]) -> str:
    """Set each variable that is only given by its old name; return a message, or "" if none is.

    Child processes inherit the new names, so that only the first process returns a message.
    """
    found = {
        "HEADWATER_" + old.removeprefix("THROUGHLINE_"): old
        for old, value in sorted(environ.items())
        if value and old.startswith("THROUGHLINE_")
    }
    found = {name: old for name, old in found.items() if not environ.get(name)}
    environ.update({name: environ[old] for name, old in found.items()})
    renamed = ", ".join(f"{old} to {name}" for name, old in found.items())
    return f"throughline is now headwater: rename {renamed}" if found else ""
