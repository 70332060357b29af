"""Marquez's API under /api/v1, over the same state."""
