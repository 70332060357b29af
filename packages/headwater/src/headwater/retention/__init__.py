"""Retention: delete old events that no query about the retained period needs."""
