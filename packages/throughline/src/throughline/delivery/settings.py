"""The deliver file, which lists the backends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from throughline.config import filled, read_yaml
from throughline.delivery.backend import Backend
from throughline.delivery.catalogs import Marquez, OpenMetadata
from throughline.delivery.datahub import DataHub
from throughline.delivery.http import Http
from throughline.delivery.local import Console, File
from throughline.errors import ConfigError

BUILT_IN: dict[str, type[Any]] = {
    "console": Console,
    "datahub": DataHub,
    "file": File,
    "http": Http,
    "marquez": Marquez,
    "openmetadata": OpenMetadata,
}

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class _Deliver:
    backends: list[dict[str, Any]]


def read_backends(path: Path) -> dict[str, Backend]:
    """Return the backends of a deliver file by name. Raises ConfigError."""
    backends: dict[str, Backend] = {}
    for index, entry in enumerate(filled(_Deliver, read_yaml(path), str(path)).backends):
        where = f"{path}: backends[{index}]"
        rest = dict(entry)
        name, kind = rest.pop("name", None), rest.pop("type", None)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigError(
                f"{where}.name: received {name!r}, expected up to 64 letters, digits, _, - and ."
            )
        if name in backends:
            raise ConfigError(f"{where}.name: {name!r} is already in use; use another name")
        class_ = _class_of(kind, f"{where}.type")
        backends[name] = class_(filled(class_.config_class, rest, where))
    return backends


def _class_of(kind: Any, where: str) -> type[Any]:
    if (built_in := BUILT_IN.get(str(kind))) is not None:
        return built_in
    others = {point.name: point for point in entry_points(group="throughline.backends")}
    if str(kind) not in others:
        names = ", ".join(sorted({*BUILT_IN, *others}))
        raise ConfigError(f"{where}: received {kind!r}, expected one of {names}")
    class_: type[Any] = others[str(kind)].load()
    return class_
