"""Words in the names of functions that show whether their arguments can be secret."""

from __future__ import annotations

import re

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

SETTERS = frozenset(
    (
        *("add", "arg", "argument", "assign", "conf", "config", "configuration"),
        *("credential", "credentials", "decouple", "default", "define", "entry", "env"),
        *("environ", "environment", "export", "get", "getenv", "header", "headers", "hset"),
        *("kv", "option", "options", "override", "param", "parameter", "params", "pop"),
        *("prop", "property", "properties", "put", "putenv", "register", "save", "secret"),
        *("secrets", "set", "setattr", "setdefault", "setenv", "setting", "settings", "setx"),
        *("store", "update", "variable", "var", "write"),
    )
)
"""Words of functions that take a name and its value."""
OTHERS = frozenset(
    (
        *("agg", "alias", "by", "col", "column", "columns", "debug", "drop", "error"),
        *("field", "fields", "filter", "group", "info", "join", "log", "print", "rename"),
        *("renamed", "replace", "select", "sort", "split", "sub", "warning", "where"),
    )
)
"""Words of functions whose arguments are names of columns, or texts."""
READERS = frozenset(
    (
        *("client", "env", "environ", "fetch", "file", "find", "get", "getenv", "getpass"),
        *("input", "load", "lookup", "open", "path", "prompt", "read", "resolve", "resource"),
        *("var", "variable", "secret", "parameter"),
    )
)
"""Words of functions whose first argument names what they read."""
BUILDERS = {"password", "passwd", "pwd", "token", "secret", "apikey", "api_key", "accesskey"}
"""Methods whose only argument is a secret."""


def words_of(callee: str) -> set[str]:
    """Return the lower-case words of a function's name."""
    return {word.lower() for word in _WORDS.findall(callee)}
