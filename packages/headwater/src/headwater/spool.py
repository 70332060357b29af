"""The transport of headwater-client under its former name, for older configurations."""

from headwater_client.spool import SpoolConfig, SpoolTransport

__all__ = ["SpoolConfig", "SpoolTransport"]
