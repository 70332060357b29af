"""Functions that print the answers of /api/v2 and of `check` as text, by query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from throughline.cli import changes, report
from throughline.console import render
from throughline.trust import doctor_command as doctor

__all__ = ["PRINTERS"]

PRINTERS: dict[str, Callable[[Any], None]] = {
    "aliases": report.print_aliases,
    "check": report.print_check,
    "columns": render.print_columns,
    "diff": changes.print_diff,
    "doctor": doctor.print_doctor,
    "drift": report.print_drift,
    "gate": report.print_gate,
    "health": report.print_health,
    "history": report.print_history,
    "impact": render.print_impact,
    "path": render.print_path,
    "provenance": report.print_provenance,
    "runs": render.print_runs,
    "runtree": render.print_runtree,
    "search": render.print_search,
    "tags": report.print_tags,
    "timeline": changes.print_timeline,
    "tree": render.print_tree,
}
