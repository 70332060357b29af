"""Describe removals of datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.datasets.models import Removal


def removal_text(removal: Removal) -> str:
    """Return a removal as a phrase: `renamed to X by JOB`."""
    new_name = f" to {removal['renamedTo']['name']}" if removal["renamedTo"] else ""
    job = f" by {removal['job']['name']}" if removal["job"] else ""
    evidence = " (read from SQL)" if removal["evidence"] == "sql" else ""
    return f"{removal['kind']}{new_name}{job}{evidence}"


def removal_mark(removal: Removal | None) -> str:
    """Return a removal to print after a name, following two spaces; nothing without one."""
    return f"  {removal_text(removal)}" if removal else ""
