"""Plugins: parts of headwater and of other packages, and errors that name the plugin."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, entry_points
from types import SimpleNamespace

import pytest

from headwater.errors import ConfigError
from headwater.plugins import GROUP, Plugin, parts


def _installed(monkeypatch: pytest.MonkeyPatch, **plugins: object) -> list[EntryPoint]:
    """Return headwater's own plugins and others, each in a module of its own."""
    for name, plugin in plugins.items():
        monkeypatch.setitem(sys.modules, f"{name}_package", SimpleNamespace(plugin=plugin))
    others = [EntryPoint(name, f"{name}_package:plugin", GROUP) for name in plugins]
    return [*others, *entry_points(group=GROUP)]


def test_parts_of_all_plugins_are_found_and_can_be_imported() -> None:
    for kind in Plugin.__dataclass_fields__:
        found = parts(kind)
        assert found
        assert all(callable(point.load()) for point in found.values())
    assert {"file", "datazone"} <= parts("backends").keys()
    assert next(iter(parts("harvesters"))) == "spark-logs"


def test_plugin_adds_parts_after_those_of_headwater(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = _installed(monkeypatch, acme=Plugin(backends={"acme": "acme_backend:Acme"}))
    found = parts("backends", installed)
    assert next(reversed(found)) in ("acme", "datazone")
    assert found["acme"].value == "acme_backend:Acme"
    assert "acme" not in parts("harvesters", installed)


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (Plugin(backends={"file": "acme:File"}), "backends 'file' is already headwater.delivery"),
        (Plugin, "acme_package:plugin is a type, expected a headwater.plugins.Plugin"),
    ],
)
def test_unusable_plugin_is_named(
    plugin: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=f"plugin acme: {message}"):
        parts("backends", _installed(monkeypatch, acme=plugin))


def test_plugin_that_cannot_be_imported_is_named() -> None:
    broken = EntryPoint("acme", "no_such_package:plugin", GROUP)
    with pytest.raises(ConfigError, match="plugin acme .* cannot be imported: ModuleNotFoundError"):
        parts("backends", [broken])
