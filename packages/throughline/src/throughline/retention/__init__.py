"""Retention: delete old events that no answer about the kept time needs."""
