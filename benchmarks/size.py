"""Print the size and readability figures of headwater (see docs/decisions/0010-size.md).

Usage: python -m benchmarks.size [--packages]

With `--packages` it also prints the lines of code of each package and plugin.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent.parent / "packages" / "headwater"
_STEP = re.compile(r"^\d+\. \[[^]]+\]\((src/[^)]+\.py)\)", re.MULTILINE)
"""A file on the path from an event to an edge in ARCHITECTURE.md."""

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    """Print one figure per line."""
    source = sorted((PACKAGE / "src").rglob("*.py"))
    tests = sorted((PACKAGE / "tests").rglob("*.py"))
    trees = [ast.parse(path.read_text()) for path in source]
    public = [node for tree in trees for node in _public(tree)]
    documented = [text for node in public if (text := ast.get_docstring(node))]
    code, test_code = _lines(source), _lines(tests)
    of_plugins = [path for path in source if "plugins" in path.relative_to(PACKAGE).parts]
    imports = [(_plugin(path), name) for path in source for name in _plugins_imported(path)]
    figures = {
        "lines of source": f"{code:,}",
        "lines of code without plugins": f"{_code(set(source) - set(of_plugins)):,}",
        "lines of code of the plugins": f"{_code(of_plugins):,}",
        "imports of a plugin by another": sum(
            plugin not in (None, name) for plugin, name in imports
        ),
        "imports of a plugin by the rest": sum(plugin is None for plugin, _ in imports),
        "files from an event to an edge (ARCHITECTURE.md)": len(_steps()),
        "their lines": f"{_lines(_steps()):,}",
        "words in the glossary of the graph": _glossary().count("\n| ") - 1,
        "dependencies of headwater-client": len(_project("headwater-client")["dependencies"]),
        "`dict[str, Any]` in signatures": _functions(trees, r"dict\[str, Any\]"),
        "the same by an alias (Json, Body, Facets)": _functions(trees, r"\b(Json|Body|Facets)\b"),
        "public definitions with a docstring": f"{len(documented) / len(public):.1%}",
        "`monkeypatch.setattr` in tests": sum(
            path.read_text().count("monkeypatch.setattr") for path in tests
        ),
        "lines of tests per line of source": f"{test_code / code:.2f}",
    }
    for name, figure in figures.items():
        sys.stdout.write(f"{figure:>8}  {name}\n")
    if "--packages" in sys.argv:
        for name, count in _packages(source).most_common():
            sys.stdout.write(f"{count:>8,}  {name}\n")


def _packages(paths: Iterable[Path]) -> Counter[str]:
    """Return the lines of code by package, or by plugin, such as `plugins/trust`."""
    counts: Counter[str] = Counter()
    for path in paths:
        parts = path.relative_to(PACKAGE / "src" / "headwater").parts
        counts["/".join(parts[: 1 + (parts[0] == "plugins")])] += _code_of(path)
    return counts


def _project(package: str) -> Any:
    return tomllib.loads((PACKAGE.parent / package / "pyproject.toml").read_text())["project"]


def _plugin(path: Path) -> str | None:
    """Return the plugin of a file, if it is of one."""
    parts = path.relative_to(PACKAGE / "src" / "headwater").parts
    return parts[1] if parts[0] == "plugins" else None


def _plugins_imported(path: Path) -> Iterator[str]:
    """Yield the plugin that each import statement of a file names, if any."""
    pattern = r"^ *(?:from|import) headwater\.plugins\.(\w+)"
    yield from re.findall(pattern, path.read_text(), re.MULTILINE)


def _code(paths: Iterable[Path]) -> int:
    """Count the lines of files without docstrings, comments, imports and blank lines."""
    return sum(map(_code_of, paths))


def _code_of(path: Path) -> int:
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.stmt) and (
            is_text or isinstance(node, ast.Import | ast.ImportFrom)
        ):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(map(str.strip, path.read_text().splitlines()), 1)
    return sum(bool(line) and line[0] != "#" and number not in skipped for number, line in lines)


def _glossary() -> str:
    text = (PACKAGE / "ARCHITECTURE.md").read_text()
    return text.partition("## Glossary of the graph")[2].partition("\n## ")[0]


def _lines(paths: list[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


def _steps() -> list[Path]:
    """Return the files in which an event becomes an edge, as ARCHITECTURE.md lists them."""
    names = _STEP.findall((PACKAGE / "ARCHITECTURE.md").read_text())
    paths = [PACKAGE / name for name in names]
    if missing := [str(path) for path in paths if not path.is_file()]:
        raise SystemExit(f"ARCHITECTURE.md names missing files: {missing}")
    return paths


def _public(tree: ast.Module) -> Iterator[_Documented]:
    """Yield a module and its public classes, functions and methods, without special methods."""
    yield tree
    open_: list[ast.stmt] = list(tree.body)
    while open_:
        node = open_.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("_") or _is_overload(node):
                continue
            yield node
            if isinstance(node, ast.ClassDef):
                open_ += node.body


def _is_overload(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = (item.id for item in node.decorator_list if isinstance(item, ast.Name))
    return "overload" in names


def _functions(trees: list[ast.Module], hint: str) -> int:
    """Count the functions with a type in their parameters or result that matches `hint`."""
    nodes = (node for tree in trees for node in ast.walk(tree))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return sum(re.search(hint, " ".join(_hints(function))) is not None for function in functions)


def _hints(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    hints = [argument.annotation for argument in every] + [function.returns]
    return [ast.unparse(hint) for hint in hints if hint is not None]


if __name__ == "__main__":
    main()
