"""Fixtures of all tests: a clean environment, and OpenLineage's schemas."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parents[4] / "shared"


@pytest.fixture(autouse=True, scope="module")
def _clean_environment() -> Iterator[None]:
    """Remove the developer's settings."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("HEADWATER_", "OPENLINEAGE")):
                patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def schemas() -> Path:
    """Return the folder with OpenLineage's JSON schemas, which is beside the repository.

    Skip the test if there is none: the schemas belong to another project.
    """
    if not (_SHARED / "spec").is_dir():
        pytest.skip("needs OpenLineage's schemas in ../shared")
    return _SHARED / "spec"
