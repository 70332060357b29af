"""The name `throughline`, which headwater had until November 2026.

Variables and stores of that name are still found and used, and the first process reports them.
Another project owns the name on PyPI, so there is neither a package nor a command of that name.
"""

from __future__ import annotations

from collections.abc import MutableMapping

__all__ = ["adopt", "report"]


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


def report(database: str) -> str:
    """Return a message if a log has the old name, otherwise ""."""
    if not database.endswith("/throughline.db"):
        return ""
    return f"throughline is now headwater: its log {database} is still used; nothing has to be done"
