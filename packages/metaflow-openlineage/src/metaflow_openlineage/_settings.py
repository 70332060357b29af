"""Settings, read from the environment once per process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwater_client import RunRef, parents
from headwater_client.parents import parent_problems

from ._report import warn


@dataclass(frozen=True)
class Settings:
    """The settings in environment variables."""

    namespace: str = "default"
    parent: RunRef | None = None
    root: RunRef | None = None
    disabled: bool = False
    deployment: str | None = None
    nominal_time: str | None = None
    source_code: bool = True
    program: str | None = None
    timeout: float = 3.0
    separate_branches: bool = False
    branch: str = ""  # `project.branch` of `@project`, set by the hooks if branches are separate

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """Read the variables listed in the README; ignore invalid ones with a warning."""
        parent, root = parents(environ) or (None, None)
        for problem in parent_problems(environ):
            warn(problem)
        return cls(
            namespace=environ.get("OPENLINEAGE_NAMESPACE") or "default",
            parent=parent,
            root=root,
            disabled=_is_true(environ, "OPENLINEAGE_DISABLED"),
            deployment=environ.get("METAFLOW_OPENLINEAGE_DEPLOYMENT") or None,
            nominal_time=environ.get("METAFLOW_OPENLINEAGE_NOMINAL_TIME") or None,
            source_code=environ.get("METAFLOW_OPENLINEAGE_SOURCE_CODE", "").lower() != "false",
            program=environ.get("METAFLOW_OPENLINEAGE_PROGRAM") or None,
            separate_branches=_is_true(environ, "METAFLOW_OPENLINEAGE_SEPARATE_BRANCHES"),
            timeout=_seconds(environ, "METAFLOW_OPENLINEAGE_TIMEOUT", cls.timeout),
        )


def _is_true(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() == "true"


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name)
    try:
        return max(0.0, float(text)) if text else default
    except ValueError:
        warn(f"{name}={text!r} is ignored: expected a number of seconds")
        return default
