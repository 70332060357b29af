"""Print the size and readability figures of headwater (see docs/decisions/0010-size.md).

Usage: python benchmarks/size.py
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "packages" / "headwater"
_STEP = re.compile(r"^\d+\. \[[^]]+\]\((src/[^)]+\.py)\)", re.MULTILINE)
"""A file on the path from an event to an edge in ARCHITECTURE.md."""

_RIDDLE = re.compile(r"(What|Who|Whether|How)\b")
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    """Print one figure per line."""
    source = sorted((PACKAGE / "src").rglob("*.py"))
    tests = sorted((PACKAGE / "tests").rglob("*.py"))
    trees = [ast.parse(path.read_text()) for path in source]
    public = [node for tree in trees for node in _public(tree)]
    documented = [text for node in public if (text := ast.get_docstring(node))]
    code, test_code = _lines(source), _lines(tests)
    figures = {
        "lines of source": f"{code:,}",
        "files from an event to an edge (ARCHITECTURE.md)": len(_steps()),
        "`dict[str, Any]` in signatures": _functions(trees, r"dict\[str, Any\]"),
        "the same by an alias (Json, Body, Facets)": _functions(trees, r"\b(Json|Body|Facets)\b"),
        "docstrings starting with What, Who, Whether or How": sum(
            bool(_RIDDLE.match(text)) for tree in trees for text in _docstrings(tree)
        ),
        "public definitions with a docstring": f"{len(documented) / len(public):.1%}",
        "`monkeypatch.setattr` in tests": sum(
            path.read_text().count("monkeypatch.setattr") for path in tests
        ),
        "lines of tests per line of source": f"{test_code / code:.2f}",
    }
    for name, figure in figures.items():
        sys.stdout.write(f"{figure:>8}  {name}\n")


def _lines(paths: list[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


def _steps() -> list[Path]:
    """Return the files in which an event becomes an edge, as ARCHITECTURE.md lists them."""
    names = _STEP.findall((PACKAGE / "ARCHITECTURE.md").read_text())
    paths = [PACKAGE / name for name in names]
    if missing := [str(path) for path in paths if not path.is_file()]:
        raise SystemExit(f"ARCHITECTURE.md names missing files: {missing}")
    return paths


def _docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, _Documented) and (text := ast.get_docstring(node)):
            yield text


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
