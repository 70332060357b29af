"""Configuration of the application and its connections."""

from __future__ import annotations

import ipaddress
from typing import Any

from headwater.settings import Settings


class ServerOptions(Settings):
    """The settings and access rules of a server; the environment is not read again."""

    is_exposed: bool = False
    """Reachable from other machines, so that requests need a key."""
    hosts: frozenset[str] = frozenset()
    """Accepted host names of a server without keys; empty: all."""
    keys_seconds: float = 1
    """Seconds after which created and deleted keys take effect in every process."""
    heartbeat_seconds: float = 15
    """Seconds without events after which an event stream sends a comment."""

    @classmethod
    def settings_customise_sources(  # type: ignore[override]
        cls, *_: object, init_settings: Any, **_others: object
    ) -> Any:
        """Use the constructor's arguments as the only source."""
        return (init_settings,)

    @classmethod
    def of(cls, settings: Settings) -> ServerOptions:
        """Return the options of the settings; loopback servers only accept their own host names.

        A server is exposed if it listens on any address besides those of the loopback interface.
        """
        is_exposed = not _is_loopback(settings.host)
        names = {"localhost", "127.0.0.1", "::1", settings.host.lower()}
        hosts = frozenset() if is_exposed else frozenset(names)
        return cls(**dict(settings), is_exposed=is_exposed, hosts=hosts)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
