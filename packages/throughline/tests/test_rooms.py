"""The shape of the package: rooms in one order, one error tree, a surface that is a list."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import throughline
from throughline import errors

_SOURCE = Path(throughline.__file__).parent
_ROOMS = (
    "redaction",
    "spec",
    "identity",
    "log",
    "projection",
    "graph",
    "trust",
    "deliver",
    "alerts",
    "api",
    "collect",
    "wrap",
    "harvest",
    "cli",
)
_ANYWHERE = {"errors", "config", "printable", "terminal", "wire", "words"}
_PRODUCERS = {"errors", "spool_file"}  # what producers may load
_MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages([str(_SOURCE)], "throughline.")
    if not module.name.startswith("throughline.spool")
)


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("room", _ROOMS)
def test_a_room_imports_only_rooms_before_it(room: str) -> None:
    allowed = {*_ROOMS[: _ROOMS.index(room) + 1], *_ANYWHERE}
    if room == "wrap":
        allowed = {"wrap", "config", "redaction", *_PRODUCERS}
    if room == "collect":
        allowed.remove("api")  # beside each other: both bring events in
    for file in (_SOURCE / room).rglob("*.py"):
        for module in _imports(file):
            if module.startswith("throughline."):
                assert module.split(".")[1] in allowed, f"{file.name} imports {module}"


def test_every_room_is_in_the_order_and_none_is_empty() -> None:
    folders = {path.name for path in _SOURCE.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == set(_ROOMS)
    assert all(len(list((_SOURCE / room).glob("*.py"))) > 1 for room in _ROOMS)


def test_the_producers_side_imports_nothing_of_the_rest() -> None:
    for name in ("spool.py", "spool_file.py"):
        ours = [m for m in _imports(_SOURCE / name) if m.startswith("throughline")]
        assert set(ours) <= {"throughline.spool_file"}


def test_the_pure_rooms_know_no_store_and_no_server() -> None:
    for room in ("spec", "identity", "graph", "trust"):
        for file in (_SOURCE / room).rglob("*.py"):
            heads = {module.split(".")[0] for module in _imports(file)}
            assert not heads & {"sqlalchemy", "fastapi", "starlette", "threading", "os"}, file


@pytest.mark.parametrize("name", _MODULES)
def test_what_a_module_lists_as_public_is_there_and_documented(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    for public in getattr(module, "__all__", ()):
        assert hasattr(module, public)
    for public, value in vars(module).items():
        is_own = getattr(value, "__module__", None) == name and not public.startswith("_")
        if is_own and (inspect.isclass(value) or inspect.isfunction(value)):
            assert value.__doc__, f"{name}.{public} has no docstring"


def test_every_error_is_drawn_in_the_tree_at_the_top() -> None:
    drawn = errors.__doc__ or ""
    found = {name: value for name, value in vars(errors).items() if inspect.isclass(value)}
    classes = {name: value for name, value in found.items() if name != "Sequence"}
    assert set(errors.__all__) == set(classes)
    for name, class_ in classes.items():
        assert name in drawn
        assert issubclass(class_, errors.ThroughlineError)


def test_no_file_is_longer_than_five_hundred_lines() -> None:
    lengths = {p: len(p.read_text().splitlines()) for p in _SOURCE.rglob("*.py")}
    assert max(lengths.values()) <= 500
    assert sorted(lengths.values())[len(lengths) // 2] < 150
