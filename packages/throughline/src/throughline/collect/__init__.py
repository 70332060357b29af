"""Ingest events from a spool folder and from files."""

from throughline.collect.files import read_files
from throughline.collect.lines import Lines, sort_lines
from throughline.collect.spool import SpoolTail, StuckFile, stuck_files

__all__ = ["Lines", "SpoolTail", "StuckFile", "read_files", "sort_lines", "stuck_files"]
