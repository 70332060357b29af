"""Texts about searches. Commands load this module, so it imports no models."""

from __future__ import annotations

from headwater.text import counted


def unread_sql(jobs: int) -> str:
    """Return what a search without the SQL of some jobs may lack."""
    return (
        f"The SQL of {counted(jobs, 'job')} was not read yet, so columns that only it names may be"
        " missing. Search again."
    )
