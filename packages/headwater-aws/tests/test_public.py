"""The public modules of the package."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import headwater_aws
import headwater_aws.harvest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("package", [headwater_aws, headwater_aws.harvest])
def test_all_lists_exactly_the_public_modules(package: ModuleType) -> None:
    modules = [module.name for module in pkgutil.iter_modules(package.__path__)]
    assert sorted(package.__all__) == sorted(name for name in modules if name[0] != "_")


def test_docstring_and_readme_describe_every_public_module() -> None:
    described = re.findall(r"^\| `(\w+)` \|", README.read_text(), re.MULTILINE)
    assert sorted(described) == sorted(headwater_aws.__all__)
    assert all(f"`{name}`" in str(headwater_aws.__doc__) for name in headwater_aws.__all__)
