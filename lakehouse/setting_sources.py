"""Additional sources of settings: the settings file and OpenLineage's variables.

OpenLineage's variables are interpreted like in openlineage-python 1.54.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from lakehouse.errors import SettingsError
from lakehouse.yaml_file import load_texts

REPOSITORY = Path(__file__).resolve().parent.parent

ENDPOINT = "api/v1/lineage"
"""Path of an OpenLineage endpoint, below its URL."""
NO_VALUE = ("", "~", "null")
"""Values in the file that count as not set, like an empty variable."""


def settings_file() -> Path:
    """Return the path of the settings file; the repository's own file need not exist.

    Raises:
        SettingsError: SETTINGS_FILE names a file that does not exist.
    """
    variable = os.environ.get("SETTINGS_FILE")
    if variable and not Path(variable).expanduser().exists():
        raise SettingsError(
            f"SETTINGS_FILE is {variable!r}, but there is no such file. Correct or unset it."
        )
    return Path(variable).expanduser().absolute() if variable else REPOSITORY / "settings.yaml"


def file_values() -> dict[str, Any]:
    """Return the settings of the file as text, so `aws_account: 012345678901` keeps its zero.

    Raises:
        ValueError: the file is not a mapping of names to values.
    """
    given = _read()
    renamed = {new_name(name): value for name, value in given.items()}
    return renamed | {name: value for name, value in given.items() if name == new_name(name)}


def old_names() -> list[str]:
    """Return the old names of settings in the file; these settings are still read."""
    return [name for name in _read() if name != new_name(name)]


def new_name(name: str) -> str:
    """Return the current name of a setting; the lineage server was formerly called throughline."""
    return re.sub("^throughline_", "headwater_", name)


def _read() -> dict[str, Any]:
    path = settings_file()
    if not path.exists():
        return {}
    values = load_texts(path.read_text()) or {}
    if not isinstance(values, dict):
        raise ValueError("expected lines such as `airflow_port: 9090`")
    return {str(name): value for name, value in values.items() if value not in NO_VALUE}


def disabled_values(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings forced by OPENLINEAGE_DISABLED."""
    is_disabled = environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true"
    return {"lineage_backend": "none"} if is_disabled else {}


def openlineage_values(
    environ: Mapping[str, str], set_names: Collection[str]
) -> dict[str, tuple[str, str]]:
    """Return the variable and value of each setting that OpenLineage's variables set.

    Settings in `set_names` are left out. The key and the endpoint apply only to OPENLINEAGE_URL.
    """
    values = {"job_namespace": ("OPENLINEAGE_NAMESPACE", environ.get("OPENLINEAGE_NAMESPACE", ""))}
    url = environ.get("OPENLINEAGE_URL", "").strip()
    if url and "lineage_backend" not in set_names:
        endpoint, key = environ.get("OPENLINEAGE_ENDPOINT"), environ.get("OPENLINEAGE_API_KEY", "")
        parts = urlsplit(urljoin(url, endpoint or ENDPOINT))
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise SettingsError(
                f"OPENLINEAGE_URL is {url!r}; expected one such as http://localhost:5000."
            )
        server, path = f"{parts.scheme}://{parts.netloc}", parts.path.lstrip("/")
        values["lineage_backend"] = "OPENLINEAGE_URL", f"embedded,{server}"
        source = "OPENLINEAGE_ENDPOINT" if endpoint else "OPENLINEAGE_URL"
        values["lineage_url_endpoint"] = source, path
        values["lineage_url_api_key"] = "OPENLINEAGE_API_KEY", key
    return {name: pair for name, pair in values.items() if pair[1] and name not in set_names}
