"""The name `throughline`, which headwater had until November 2026.

Stores of that name are still found and used; `headwater_client.old_name` handles environment
variables. Another project owns the name on PyPI, so there is neither a package nor a command of
that name.
"""

from __future__ import annotations

__all__ = ["report"]


def report(database: str) -> str:
    """Return a message if a log has the old name, otherwise "".

    `database` is the file or URL of the log.
    """
    if not database.endswith("/throughline.db"):
        return ""
    return f"throughline is now headwater: its log {database} is still used; nothing has to be done"
