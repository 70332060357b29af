"""Find the secrets in Python source by its syntax tree.

A string is secret if a secret name is assigned to it, or if it is the argument, the default or the
item that belongs to such a name.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import singledispatch
from itertools import pairwise, zip_longest

from .callees import BUILDERS, OTHERS, READERS, SETTERS, words_of
from .names import is_secret_name
from .values import is_plain, looks_like_name

_LONGEST = 131_072
_DEEPEST = 40
"""Limits of the parser's time: it may be exponential in the depth of brackets."""

_FILE = "<masked source>"
# A warning about masked source would appear among the messages of the server.
warnings.filterwarnings("ignore", module=_FILE)

_ESCAPES = re.compile(r"\\[^\n]")
_LINES = re.compile(rb"\r\n|\r|\n")
_BRACKETS = re.compile(r"[(\[{)\]}]")


def mask_python(text: str, mask: str) -> str:
    """Mask the secret strings of Python source; return any other text unchanged."""
    tree = _parsed(text)
    if tree is None:
        return text
    found = {expression for node in ast.walk(tree) for expression in _secrets(node)}
    strings = {string for expression in found for string in _strings(expression)}
    return _replaced(text, strings, mask) if strings else text


def _parsed(text: str) -> ast.Module | None:
    """Return the syntax tree of a text; None if it is no Python, or too long or deep.

    A line precedes the text, so that indented code can be parsed: lines count from 2.
    """
    if len(text) > _LONGEST or _is_too_deep(text):
        return None
    plain = _ESCAPES.sub("__", text)  # an unusual escape would cause a warning
    source = f"if 1:\n{plain}" if text[:1] in " \t" else f"\n{plain}"
    try:
        return ast.parse(source, _FILE)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_too_deep(text: str) -> bool:
    """Return True if brackets are nested more than `_DEEPEST` levels deep."""
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        depth += 1 if bracket[0] in "([{" else -1
        if depth > _DEEPEST:
            return True
    return False


def _replaced(text: str, strings: set[ast.expr], mask: str) -> str:
    """Return a text with some of its strings replaced by the mask, in quotes.

    Positions in the tree are lines and bytes; of nested strings, the outer one is replaced.
    """
    data = text.encode()
    starts = [0, 0, *(line.end() for line in _LINES.finditer(data))]
    spans = sorted(
        (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )
        for node in strings
        if node.end_lineno is not None and node.end_col_offset is not None
    )
    parts, end = [], 0
    for start, stop in spans:
        if start >= end:
            quote = b'"' if data[stop - 1 : stop] == b'"' else b"'"
            parts += [data[end:start], quote, mask.encode(), quote]
            end = stop
    return b"".join([*parts, data[end:]]).decode()


def _text(node: ast.expr | None) -> str | None:
    """Return the text of a literal string or bytes, or None."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else None


def _name(node: ast.AST | None) -> str:
    """Return the name of a variable, an attribute, an item with a literal key, or a literal."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _name(node.slice)
    if isinstance(node, ast.Name):
        return node.id
    return (_text(node) or "") if isinstance(node, ast.Constant) else ""


def _is_secret(node: ast.AST | None) -> bool:
    return is_secret_name(_name(node))


@singledispatch
def _secrets(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions whose strings are secret, at any depth."""
    yield from ()


@_secrets.register
def _(node: ast.Assign) -> Iterator[ast.expr]:
    for target in node.targets:
        yield from _assigned(target, node.value)


@_secrets.register(ast.AnnAssign)
@_secrets.register(ast.AugAssign)
@_secrets.register(ast.NamedExpr)
def _(node: ast.AnnAssign | ast.AugAssign | ast.NamedExpr) -> Iterator[ast.expr]:
    if node.value is not None:
        yield from _assigned(node.target, node.value)


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[ast.expr]:
    """Yield the values that an assignment gives to secret names, also in tuples."""
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        for item, part in zip(target.elts, value.elts, strict=False):
            yield from _assigned(item, part)
    elif _is_secret(target):
        yield value


@_secrets.register
def _(node: ast.Compare) -> Iterator[ast.expr]:
    for left, right in pairwise((node.left, *node.comparators)):
        if _is_secret(left):
            yield right
        elif _is_secret(right) and _text(right) is None:
            yield left


@_secrets.register
def _(node: ast.Dict) -> Iterator[ast.expr]:
    yield from (value for key, value in zip(node.keys, node.values, strict=True) if _is_secret(key))
    fields = [(_name(key), value) for key, value in zip(node.keys, node.values, strict=True)]
    yield from _named_value(fields)


def _named_value(fields: Sequence[tuple[str, ast.expr]]) -> Iterator[ast.expr]:
    """Yield the value next to a secret name, as in {"name": "password", "value": "x"}."""
    if any(key.lower() in _NAME_FIELDS and _is_secret_text(value) for key, value in fields):
        yield from (value for key, value in fields if _VALUE_FIELD.fullmatch(key))


_NAME_FIELDS = {"name", "key", "option", "parameter", "variable", "field", "header"}
_VALUE_FIELD = re.compile(r"(?:string|default|new|raw)?_?(?:values?|var)|default", re.IGNORECASE)


def _is_secret_text(node: ast.expr) -> bool:
    text = _text(node)
    return text is not None and is_secret_name(text)


@_secrets.register(ast.List)
@_secrets.register(ast.Tuple)
@_secrets.register(ast.Set)
def _(node: ast.List | ast.Tuple | ast.Set) -> Iterator[ast.expr]:
    items = node.elts
    for flag, value in pairwise(items):  # ["--password", "x"]
        if (_text(flag) or "").startswith("-") and _is_secret(flag):
            yield value
    if items and all(isinstance(item, ast.Tuple | ast.List) for item in items):
        for item in items:  # [("password", "x")]
            pair = item.elts if isinstance(item, ast.Tuple | ast.List) else []
            if (
                len(pair) == 2
                and _is_secret_text(pair[0])
                and not looks_like_name(_text(pair[1]) or "")
            ):
                yield pair[1]


@_secrets.register(ast.FunctionDef)
@_secrets.register(ast.AsyncFunctionDef)
def _(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    yield from _defaults(node.args)
    if is_secret_name(node.name):
        for statement in node.body:
            if isinstance(statement, ast.Return) and statement.value is not None:
                yield statement.value


@_secrets.register
def _(node: ast.Lambda) -> Iterator[ast.expr]:
    yield from _defaults(node.args)


def _defaults(args: ast.arguments) -> Iterator[ast.expr]:
    """Yield the default values of secret parameters."""
    positional = reversed([*args.posonlyargs, *args.args])
    pairs = [
        *zip(positional, reversed(args.defaults), strict=False),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ]
    for argument, default in pairs:
        if default is not None and is_secret_name(argument.arg):
            yield default


@_secrets.register
def _(node: ast.ClassDef) -> Iterator[ast.expr]:
    yield from (item.value for item in node.keywords if item.arg and is_secret_name(item.arg))


_AUTHENTICATIONS = frozenset(
    (
        *("basicauth", "digestauth", "httpbasicauth", "httpdigestauth", "httpproxyauth"),
        *("passwordcredentials", "secretbytes", "secretstr", "usernamepasswordcredential"),
        *("userpasscredentials", "azurenamedkeycredential", "azurekeycredential"),
        *("azuresascredential", "tokenauth", "bearerauth"),
    )
)
"""Functions whose last argument is a secret."""


@_secrets.register
def _(node: ast.Call) -> Iterator[ast.expr]:
    yield from (item.value for item in node.keywords if item.arg and is_secret_name(item.arg))
    fields = [(item.arg or "", item.value) for item in node.keywords]
    yield from _named_value(fields)
    callee = _name(node.func)
    words = words_of(callee)
    for index, (argument, following) in enumerate(zip_longest(node.args, node.args[1:])):
        if not _is_secret_text(argument):
            continue
        if following is not None and _takes_pair(words, following, index):
            yield following
        if not words & OTHERS:
            yield from (value for key, value in fields if _VALUE_FIELD.fullmatch(key))
    yield from _last_argument(node, callee, words)


def _takes_pair(words: set[str], value: ast.expr, index: int) -> bool:
    """Return True if `value`, the argument after a secret name, is its value.

    `words` are those of the function's name, and `index` is the place of the name.
    """
    if words & OTHERS:
        return False
    if words & SETTERS:
        return True
    return index < 2 and not looks_like_name(_text(value) or "a")


def _last_argument(node: ast.Call, callee: str, words: set[str]) -> Iterator[ast.expr]:
    """Yield the last argument of `set_password("x")`, `b.password("x")` and `BasicAuth("u", "x")`.

    A method of the name of a secret, without a verb, is a setter only if it has one argument.
    """
    if not node.args:
        return
    is_setter = bool(words & {"set", "with", "put", "add", "update", "change", "reset", "use"})
    is_builder = isinstance(node.func, ast.Attribute) and callee.lower() in BUILDERS
    if callee.lower() in _AUTHENTICATIONS or (
        is_secret_name(callee) and (is_setter or (is_builder and len(node.args) == 1))
    ):
        yield node.args[-1]


def _strings(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the secret strings of an expression that is the value of a secret name."""
    nodes = [node]
    while nodes:
        expression = nodes.pop()
        if isinstance(expression, ast.Constant):
            text = _text(expression)
            if text is not None and not is_plain(text):
                yield expression
        elif isinstance(expression, ast.JoinedStr):
            if _has_secret_part(expression):
                yield expression
        else:
            inner = _INNER.get(type(expression))
            nodes += inner(expression) if inner else ()


def _has_secret_part(node: ast.JoinedStr) -> bool:
    texts = [(_text(part) or "").strip() for part in node.values]
    return any(text and not _SCHEME.fullmatch(text) for text in texts)


_SCHEME = re.compile(r"(?i:bearer|basic|token|apikey)|[^A-Za-z0-9]+")


def _of_call(node: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call that may be secret, and the text whose method is called.

    The first argument of a reader, such as `getenv("PASSWORD", "x")`, or one that is a secret name,
    only names the secret; the others may be its default.
    """
    inner = [item.value for item in node.keywords if _VALUE_FIELD.fullmatch(item.arg or "")]
    if isinstance(node.func, ast.Attribute) and _text(node.func.value) is not None:
        # "x".encode("utf-8")
        return [node.func.value, *(node.args if node.func.attr in ("join", "format") else ())]
    words = words_of(_name(node.func))
    if words & READERS or (node.args and _is_secret(node.args[0])):
        return [*inner, *node.args[1:]]
    return [*inner, *node.args]


_INNER: dict[type[ast.expr], Callable[..., Sequence[ast.expr]]] = {
    ast.BinOp: lambda node: (node.left, node.right),
    ast.BoolOp: lambda node: node.values,
    ast.IfExp: lambda node: (node.body, node.orelse),
    ast.NamedExpr: lambda node: (node.value,),
    ast.Await: lambda node: (node.value,),
    ast.Starred: lambda node: (node.value,),
    ast.Tuple: lambda node: node.elts,
    ast.List: lambda node: node.elts,
    ast.Set: lambda node: node.elts,
    ast.Dict: lambda node: node.values,
    ast.Call: _of_call,
}
