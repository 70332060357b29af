"""The transport of headwater-client, under a name that older OpenLineage configurations have."""

from headwater_client.spool import SpoolConfig, SpoolTransport

__all__ = ["SpoolConfig", "SpoolTransport"]
