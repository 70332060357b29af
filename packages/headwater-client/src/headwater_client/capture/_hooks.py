"""Wrap functions of libraries that are imported now or later.

Errors in recording are caught, so that the wrapped call does not fail because of them. A wrapped
function has the attribute `_headwater`, so that it is wrapped only once.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

from headwater_client.capture._origins import forget
from headwater_client.capture._recorder import Capture, _is_inside, current, log, paused

_HERE = "headwater_client.capture"
_PATCHES = {
    "pandas": "_frames",
    "polars": "_frames",
    "pyarrow.parquet": "_arrow",
    "pyarrow.dataset": "_arrow",
    "pyarrow.csv": "_arrow",
    "pyarrow.feather": "_arrow",
    "pyarrow.orc": "_arrow",
    "duckdb": "_duckdb",
    "pyiceberg.table": "_iceberg",
    "sqlalchemy.engine": "_databases",
    "botocore.client": "_objects",
    "s3fs.core": "_objects",
}
"""Modules of libraries, and the module here whose function `patch` wraps their functions."""

Before = Callable[[Capture, "Call"], Any]
After = Callable[[Capture, "Call", Any, Any], None]
"""Receives the capture, the call, what `Before` returned, and the result of the call."""


class Call:
    """The arguments of a call."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> None:
        self.args = args
        self.kwargs = kwargs
        self.frame = frame
        """The frame of the caller."""
        self.started = datetime.now(UTC)

    def get(self, position: int, *names: str) -> Any:
        """Return the argument at a position or with one of the names; None without it."""
        if position < len(self.args):
            return self.args[position]
        return next((self.kwargs[name] for name in names if name in self.kwargs), None)


def install() -> None:
    """Wrap the functions of the libraries that are imported, and of those that will be."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder())
    for name in _PATCHES:
        if (module := sys.modules.get(name)) is not None:
            _patch(module)


def _patch(module: ModuleType) -> None:
    try:
        import_module(f"{_HERE}.{_PATCHES[module.__name__]}").patch(module)
    except Exception as error:  # lineage must never break an import
        log.debug("reads and writes of %s are not recorded: %r", module.__name__, error)


class _Finder(MetaPathFinder):
    """Finds modules with the other finders, and wraps their functions once they are executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that is wrapped; None for all others."""
        if fullname not in _PATCHES:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                _wrap_loader(spec)
                return spec
        return None


def _wrap_loader(spec: ModuleSpec) -> None:
    """Make a module's loader wrap its functions once the module is executed."""
    loader: Any = spec.loader
    if loader is None or not hasattr(loader, "exec_module"):
        return
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        _patch(module)

    try:
        loader.exec_module = exec_module
    except AttributeError:  # a loader with slots
        log.debug("reads and writes of %s are not recorded", spec.name)


def wrap(
    owner: Any,
    name: str,
    before: Before,
    after: After,
    call_original: Callable[..., Any] | None = None,
) -> None:
    """Replace a function of a module or class by one that is recorded, if it exists.

    `before` runs before the call, `after` if it succeeded. `call_original` calls the original. If
    `before` finds something, calls within this one are not recorded: they are part of it. A method
    is replaced in the base class that defines it.
    """
    owner = next((base for base in getattr(owner, "__mro__", ()) if name in vars(base)), owner)
    original = getattr(owner, name, None)
    if original is None or hasattr(original, "_headwater"):
        return

    @functools.wraps(original)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        capture = current()
        if capture is None:
            return (
                call_original(original, args, kwargs)
                if call_original
                else original(*args, **kwargs)
            )
        call = Call(args, kwargs, sys._getframe(1))
        found = _paused(before, capture, call)
        token = _is_inside.set(True) if found else None
        try:
            if call_original:
                result = call_original(original, args, kwargs)
            else:
                result = original(*args, **kwargs)
        finally:
            if token is not None:
                _is_inside.reset(token)
        _paused(after, capture, call, found, result)
        return result

    recorded._headwater = True  # type: ignore[attr-defined]
    home = sys.modules.get(getattr(original, "__module__", None) or "")
    if home is not None and vars(home).get(name) is original:
        setattr(home, name, recorded)  # pickle finds a function by its module and name
    elif isinstance(owner, ModuleType):
        recorded.__module__, recorded.__qualname__ = owner.__name__, name
    setattr(owner, name, recorded)


def wrap_change(owner: Any, name: str, changed: Callable[[Any], Any]) -> None:
    """Make a method forget the datasets of the object that it changes, which `changed` returns.

    They are forgotten before the change, also if it fails.
    """
    owner = next((base for base in getattr(owner, "__mro__", ()) if name in vars(base)), owner)
    original = vars(owner).get(name)
    if original is None or hasattr(original, "_headwater"):
        return

    @functools.wraps(original)
    def changing(self: Any, *args: Any, **kwargs: Any) -> Any:
        with suppress(Exception):
            forget(changed(self))
        return original(self, *args, **kwargs)

    changing._headwater = True  # type: ignore[attr-defined]
    setattr(owner, name, changing)


def wrap_result(owner: Any, name: str, seen: Callable[[Any], None]) -> None:
    """Pass the result of a method or property to `seen`, unless the library itself called it.

    It is used for results through which the caller can change the object, such as the array of a
    frame.
    """
    owner = next((base for base in getattr(owner, "__mro__", ()) if name in vars(base)), owner)
    found = vars(owner).get(name)
    original = found.fget if isinstance(found, property) else found
    if original is None or hasattr(original, "_headwater"):
        return
    library = owner.__module__.partition(".")[0]

    @functools.wraps(original)
    def returning(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.partition(".")[0] != library:
            _quiet(seen, result)
        return result

    returning._headwater = True  # type: ignore[attr-defined]
    setattr(owner, name, property(returning) if isinstance(found, property) else returning)


def _paused(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call `before` or `after`, without recording the queries and reads that it makes itself."""
    with paused():
        return _quiet(function, *arguments)


def _quiet(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:  # lineage must never break a call
        log.debug("a read or write is not recorded: %r", error)
        return None
