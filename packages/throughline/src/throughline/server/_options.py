"""Configuration of the application and its connections."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, fields

from throughline.settings import Settings


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Access rules and limits of a server; `throughline.settings` describes the settings."""

    api_key: str | None = field(default=None, repr=False)
    is_exposed: bool = False
    """Reachable from other machines, so that requests need a key."""
    hosts: frozenset[str] = frozenset()
    """Accepted host names of a server without keys; empty: all."""
    frame_origins: tuple[str, ...] = ()
    program: str = "throughline"
    largest_body: int = 64 * 2**20
    body_memory: int = 128 * 2**20
    body_seconds: float = 60
    most_events: int = 10_000
    most_connections: int = 500
    longest_query: float = 30
    running_queries: int = 4
    waiting_queries: int = 100
    keys_seconds: float = 1
    """Seconds after which created and deleted keys take effect in every process."""
    heartbeat_seconds: float = 15
    """Seconds without events after which an event stream sends a comment."""

    @classmethod
    def of(cls, settings: Settings) -> ServerOptions:
        """Return the options of the settings; loopback servers only accept their own host names."""
        is_exposed = not _is_loopback(settings.host)
        names = {"localhost", "127.0.0.1", "::1", settings.host.lower()}
        hosts = frozenset() if is_exposed else frozenset(names)
        shared = [option.name for option in fields(cls) if hasattr(settings, option.name)]
        values = {name: getattr(settings, name) for name in shared}
        return cls(is_exposed=is_exposed, hosts=hosts, **values)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
