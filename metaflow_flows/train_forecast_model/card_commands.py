"""Metaflow's commands `card view` and `card server`, kept to this machine and the state folder.

Metaflow has no option for either.
"""

from __future__ import annotations

from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lakehouse.settings import load_settings


def keep_cards_home(arguments: Sequence[str]) -> None:
    """Call before Metaflow reads its `arguments`; does nothing for other commands."""
    if "card" not in arguments:
        return
    from metaflow.plugins.cards import card_datastore, card_server

    # `card view` copies the card into a folder of this name below the current one.
    card_datastore.TEMP_DIR_NAME = str(load_settings().state_dir / "metaflow" / "card_cache")
    card_server.ThreadingHTTPServer = _on_loopback  # type: ignore[assignment,misc]  # one is made


def _on_loopback(
    address: tuple[str, int], routes: type[BaseHTTPRequestHandler]
) -> ThreadingHTTPServer:
    """The server, which Metaflow would have listen on every interface, without a password."""
    return ThreadingHTTPServer(("127.0.0.1", address[1]), routes)
