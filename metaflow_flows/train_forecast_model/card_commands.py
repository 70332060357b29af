"""Restrict Metaflow's `card view` to the state folder and `card server` to this machine.

Metaflow has no options for this.
"""

from __future__ import annotations

from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lakehouse.settings import load_settings


def keep_cards_home(arguments: Sequence[str]) -> None:
    """Patch the card commands before Metaflow reads `arguments`; do nothing for others."""
    if "card" not in arguments:
        return
    from metaflow.plugins.cards import card_datastore, card_server

    # `card view` copies the card to a folder of this name below the current one.
    card_datastore.TEMP_DIR_NAME = str(load_settings().state_dir / "metaflow" / "card_cache")
    card_server.ThreadingHTTPServer = _on_loopback  # type: ignore[assignment,misc]  # a factory


def _on_loopback(
    address: tuple[str, int], routes: type[BaseHTTPRequestHandler]
) -> ThreadingHTTPServer:
    """Return the server on loopback; Metaflow's listens on all interfaces without a password."""
    return ThreadingHTTPServer(("127.0.0.1", address[1]), routes)
