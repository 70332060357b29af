"""The structure of the package: documented modules, one error tree, short files.

Import directions are contracts of import-linter, in pyproject.toml.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import headwater
from headwater import errors

_SOURCE = Path(headwater.__file__).parent
_MODULES = sorted(module.name for module in pkgutil.walk_packages([str(_SOURCE)], "headwater."))


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_public_names_exist_and_are_documented() -> None:
    missing: list[str] = []
    docstrings: dict[str, str | None] = {}
    for name in _MODULES:
        module = importlib.import_module(name)
        missing += [f"{name}.{n}" for n in getattr(module, "__all__", ()) if not hasattr(module, n)]
        docstrings[name] = module.__doc__
        for public, value in vars(module).items():
            is_own = getattr(value, "__module__", None) == name and not public.startswith("_")
            if is_own and (inspect.isclass(value) or inspect.isfunction(value)):
                docstrings[f"{name}.{public}"] = value.__doc__
    assert missing == []
    assert [name for name, text in docstrings.items() if not text] == []


def test_errors_docstring_lists_every_error() -> None:
    drawn = errors.__doc__ or ""
    results = {name: value for name, value in vars(errors).items() if inspect.isclass(value)}
    classes = {name: value for name, value in results.items() if name != "Sequence"}
    assert set(errors.__all__) == set(classes)
    for name, class_ in classes.items():
        assert name in drawn
        assert issubclass(class_, errors.HeadwaterError)


def test_queries_module_imports_all_queries_of_its_feature() -> None:
    for file in _SOURCE.rglob("*.py"):
        if re.search(r"^@query\(", file.read_text(), re.MULTILINE) and file.stem != "queries":
            name = ".".join(file.relative_to(_SOURCE.parent).with_suffix("").parts)
            assert name in _imports(file.with_name("queries.py")), f"{name} is not registered"


def test_no_file_is_longer_than_five_hundred_lines() -> None:
    lengths = {p: len(p.read_text().splitlines()) for p in _SOURCE.rglob("*.py")}
    assert max(lengths.values()) <= 500
    assert sorted(lengths.values())[len(lengths) // 2] < 150


def test_private_modules_are_imported_only_within_their_package() -> None:
    folders = ("airflow", "commands", "infra", "lakehouse", "metaflow_flows", "spark_jobs")
    roots = [_SOURCE, *_SOURCE.parents[2].glob("headwater-aws/src")]
    roots += [_SOURCE.parents[3] / folder for folder in folders]
    foreign = {
        (str(file), module)
        for root in roots
        for file in root.rglob("*.py")
        for module in _private_imports(file)
        if not file.is_relative_to(_SOURCE / module.split(".")[1])
    }
    assert foreign == set()


def _private_imports(file: Path) -> set[str]:
    """Return the private modules of headwater that a file imports."""
    private = {module for module in _MODULES if module.rpartition(".")[2].startswith("_")}
    return private & {
        name
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module
        for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
    }


def test_all_yaml_is_loaded_with_bounded_aliases() -> None:
    repository = _SOURCE.parents[3]
    loading = re.compile(r"yaml\.(safe_load|load|unsafe_load|full_load|compose)\w*\(")
    sources = [*repository.glob("packages/*/src/**/*.py"), *repository.glob("commands/**/*.py")]
    loads = {file.name for file in sources if loading.search(file.read_text())}
    assert loads == {"yaml_file.py"}


def test_routes_are_added_as_they_are() -> None:
    """Newer versions of FastAPI hide included routers from the OpenAPI document."""
    files = [file for file in _SOURCE.rglob("*.py") if "include_router(" in file.read_text()]
    assert files == []


def test_core_stays_small_enough_to_read() -> None:
    core = ("redaction", "events", "identity", "log", "projection", "graph")
    files = [file for package in core for file in (_SOURCE / package).rglob("*.py")]
    lines = sum(_lines_of_code(file) for file in files)
    assert lines <= 6_310, "see docs/decisions/0010-size.md for what to do"


def _lines_of_code(file: Path) -> int:
    """Count the lines without docstrings, comments, imports and blank lines.

    A limit on all lines would be a limit on explanations.
    """
    lines = file.read_text().splitlines()
    skipped = {number for number, line in enumerate(lines, 1) if not line.strip(" #")}
    skipped |= {n for n, line in enumerate(lines, 1) if line.lstrip().startswith("#")}
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Expr | ast.Import | ast.ImportFrom):
            skipped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines) - len(skipped)


def test_tests_are_in_folders_of_packages_and_plugins() -> None:
    tests = Path(__file__).parents[1]
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    without_package = {Path("package"), Path("truth")}
    assert [
        str(folder) for folder in folders - without_package if not (_SOURCE / folder).is_dir()
    ] == []
