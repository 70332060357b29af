"""Snapshots of the projection, from which a server starts."""
