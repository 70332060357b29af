"""Recordings of real services and of this stack, unpacked from `recordings.tar.xz`.

- `marquez-answers`: what Marquez 0.51.2 answers to 311 events in 23 scenarios; its README explains
  the files, and names defects that are not to be copied.
- `datahub-answers`: what DataHub's OpenLineage endpoint makes of single events.
- `openlineage-events/this-stack`: events of Airflow 3.3, Spark 4.1 with Iceberg and Metaflow 2.19.

They were made in November 2026, before this project had tests, and are packed once:
`tar --sort=name --owner=0 --group=0 --mtime=@0 -cJf recordings.tar.xz FOLDERS`.
"""

from __future__ import annotations

import atexit
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["recordings"]


@cache
def recordings() -> Path:
    """Unpack the recordings once per process, and return their folder."""
    folder = tempfile.mkdtemp(prefix="recordings-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tarfile.open(Path(__file__).with_name("recordings.tar.xz")) as archive:
        # An attribute, because Debian's Python 3.11.2 has no parameter for the filter.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    return Path(folder)
