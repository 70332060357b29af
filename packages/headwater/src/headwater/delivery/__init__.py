"""Deliver events to backends: one forwarder for each, with its own cursor into the log."""
