"""Ingest events from a spool folder and from files."""
