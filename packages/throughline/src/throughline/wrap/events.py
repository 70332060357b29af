"""The OpenLineage 2-0-2 events of a command's run; each contains everything declared."""

from __future__ import annotations

import re
import secrets
import subprocess
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from throughline.wrap.declared import Declaration, Declared
from throughline.wrap.parent import RunRef, child_environment, parents

_VERSION = version("throughline")
PRODUCER = f"https://github.com/throughline-lineage/throughline/tree/{_VERSION}"
_SPEC = "https://openlineage.io/spec"
_PARENT_PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/main/spec"
"""The producer of parent facets; DataHub's converter rejects events with an unknown one."""
_GIT_SECONDS = 2.0


class CommandRun:
    """One run of a declared job: its events, and the environment of its command."""

    def __init__(self, declared: Declared, environment: Mapping[str, str]) -> None:
        job = declared.job
        self._declared = declared
        self._ref = RunRef(job.namespace, job.name, _uuid7())
        self._ancestors = parents(environment)
        self._code: dict[str, Any] = {}

    @property
    def environment(self) -> dict[str, str]:
        """Variables that make runs started by the command children of this run."""
        return child_environment(self._ref, self._ancestors[1] if self._ancestors else self._ref)

    def find_code(self) -> None:
        """Add the git location of the declaration to later events."""
        location = git_location(self._declared.path)
        if location:
            self._code = {"sourceCodeLocation": facet("1-1-0/SourceCodeLocationJob", **location)}

    def event(self, type_: str, at: datetime, error: str | None = None) -> dict[str, Any]:
        """Return an event of the run."""
        run: dict[str, Any] = {
            "processing_engine": facet(
                "1-1-1/ProcessingEngineRun", name="throughline", version=_VERSION
            )
        }
        if self._ancestors:
            parent, root = self._ancestors
            parent_run = {**parent.facet(), "root": root.facet()}
            run["parent"] = facet("1-2-0/ParentRun", **parent_run) | {"_producer": _PARENT_PRODUCER}
        if error is not None:
            run["errorMessage"] = facet(
                "1-0-1/ErrorMessageRun", message=error, programmingLanguage="unknown"
            )
        # Without a jobType the level follows from the parent and the children of the run.
        kind = facet("2-0-4/JobTypeJob", processingType="BATCH", integration="THROUGHLINE")
        declared = self._declared
        return {
            "eventType": type_,
            "eventTime": at.isoformat(),
            "producer": PRODUCER,
            "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": self._ref.run_id, "facets": run},
            "job": {
                "namespace": self._ref.namespace,
                "name": self._ref.job,
                "facets": {
                    "jobType": kind,
                    **self._code,
                    **_description_facets(declared.job, "Job"),
                },
            },
            "inputs": [_dataset(item) for item in declared.inputs],
            "outputs": [_dataset(item) for item in declared.outputs],
        }


def now() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


def git_location(file: Path) -> dict[str, str] | None:
    """Return the git location of a file: repository, commit and path; None outside of git.

    `version` is the commit. It ends with `-dirty` if tracked files have changed.
    """

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(file.absolute().parent), *arguments]
        result = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=_GIT_SECONDS
        )
        return result.stdout.strip() if result.returncode == 0 else ""

    with suppress(OSError, subprocess.SubprocessError):
        commit, prefix = git("rev-parse", "HEAD"), git("rev-parse", "--show-prefix")
        if not commit:
            return None
        repository = _url(git("remote", "get-url", "origin") or git("rev-parse", "--show-toplevel"))
        dirty = "-dirty" if git("status", "--porcelain", "--untracked-files=no") else ""
        path = prefix + file.name
        return {
            "type": "git",
            "url": f"{repository.removesuffix('.git')}/blob/{commit}/{path}",
            "repoUrl": repository,
            "path": path,
            "version": commit + dirty,
        }
    return None


def _url(remote: str) -> str:
    """Return git's remote address as a URL without user and password."""
    if remote.startswith("/"):
        return Path(remote).as_uri()
    url = re.sub(r"^[\w.-]+@([\w.-]+):", r"https://\1/", remote)  # git@github.com:team/jobs.git
    return re.sub(r"^(\w+://)[^/@]*@", r"\1", url)


def _dataset(declaration: Declaration) -> dict[str, Any]:
    facets = _description_facets(declaration, "Dataset")
    return {"namespace": declaration.namespace, "name": declaration.name, "facets": facets}


def _description_facets(declaration: Declaration, kind: str) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if declaration.description:
        facets["documentation"] = facet(
            f"1-1-0/Documentation{kind}", description=declaration.description
        )
    if declaration.owners:
        owners = [{"name": name, "type": "MAINTAINER"} for name in declaration.owners]
        facets["ownership"] = facet(f"1-0-1/Ownership{kind}", owners=owners)
    if declaration.classification:
        tags = [_tag(text) for text in declaration.classification]
        facets["tags"] = facet(f"1-0-0/Tags{kind}", tags=tags)
    return facets


def _tag(text: str) -> dict[str, str]:
    key, _, value = text.partition(":")
    return {"key": key.strip(), "value": value.strip() or "true", "source": "USER"}


def facet(schema: str, **fields: Any) -> dict[str, Any]:
    """Return an OpenLineage facet with its fields; `schema` is such as `1-1-0/DocumentationJob`."""
    name = schema.rsplit("/", 1)[-1]
    url = f"{_SPEC}/facets/{schema}Facet.json#/$defs/{name}Facet"
    return {"_producer": PRODUCER, "_schemaURL": url, **fields}


def _uuid7() -> str:
    """Return a UUID that is ordered by time (RFC 9562, version 7)."""
    number = time.time_ns() // 1_000_000 << 80 | secrets.randbits(80)
    number = number & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=number & ~(0b11 << 62) | 0b10 << 62))
