"""The events of a command's run, as plain OpenLineage 2-0-2. Each says all that is declared."""

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

from throughline.wrap.declared import About, Declared
from throughline.wrap.parent import RunRef, parents, told_to_children

_VERSION = version("throughline")
PRODUCER = f"https://github.com/throughline-lineage/throughline/tree/{_VERSION}"
_SPEC = "https://openlineage.io/spec"
_PARENT_PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/main/spec"
"""The producer of parent facets: DataHub's converter refuses an event if it does not know that."""
_GIT_SECONDS = 2.0


class CommandRun:
    """One run of a declared job: what its events say, and what its command is told."""

    def __init__(self, declared: Declared, environment: Mapping[str, str]) -> None:
        job = declared.job
        self._declared = declared
        self._ref = RunRef(job.namespace, job.name, _uuid7())
        self._above = parents(environment)
        self._code: dict[str, Any] = {}

    @property
    def environment(self) -> dict[str, str]:
        """Variables that make the runs which the command starts children of this one."""
        return told_to_children(self._ref, self._above[1] if self._above else self._ref)

    def find_code(self) -> None:
        """Ask git where the declaration lives; from then on events say it."""
        location = git_location(self._declared.path)
        if location:
            self._code = {"sourceCodeLocation": facet("1-1-0/SourceCodeLocationJob", **location)}

    def event(self, type_: str, at: datetime, error: str | None = None) -> dict[str, Any]:
        """The event that something happened to the run."""
        run: dict[str, Any] = {
            "processing_engine": facet(
                "1-1-1/ProcessingEngineRun", name="throughline", version=_VERSION
            )
        }
        if self._above:
            parent, root = self._above
            told = {**parent.facet(), "root": root.facet()}
            run["parent"] = facet("1-2-0/ParentRun", **told) | {"_producer": _PARENT_PRODUCER}
        if error is not None:
            run["errorMessage"] = facet(
                "1-0-1/ErrorMessageRun", message=error, programmingLanguage="unknown"
            )
        # No jobType in it: what started the command, and what it starts, say how coarse it is.
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
                "facets": {"jobType": kind, **self._code, **_described(declared.job, "Job")},
            },
            "inputs": [_dataset(each) for each in declared.inputs],
            "outputs": [_dataset(each) for each in declared.outputs],
        }


def now() -> datetime:
    """The time for an event."""
    return datetime.now(UTC)


def git_location(file: Path) -> dict[str, str] | None:
    """Where a file lives in git: repository, commit and path; None outside of one.

    `version` is the commit; it ends with `-dirty` if tracked files were changed since.
    """

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(file.absolute().parent), *arguments]
        asked = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=_GIT_SECONDS
        )
        return asked.stdout.strip() if asked.returncode == 0 else ""

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
    """Return git's address of a repository as a URL, without a user and password."""
    if remote.startswith("/"):
        return Path(remote).as_uri()
    url = re.sub(r"^[\w.-]+@([\w.-]+):", r"https://\1/", remote)  # git@github.com:team/jobs.git
    return re.sub(r"^(\w+://)[^/@]*@", r"\1", url)


def _dataset(about: About) -> dict[str, Any]:
    facets = _described(about, "Dataset")
    return {"namespace": about.namespace, "name": about.name, "facets": facets}


def _described(about: About, kind: str) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if about.description:
        facets["documentation"] = facet(f"1-1-0/Documentation{kind}", description=about.description)
    if about.owners:
        owners = [{"name": name, "type": "MAINTAINER"} for name in about.owners]
        facets["ownership"] = facet(f"1-0-1/Ownership{kind}", owners=owners)
    if about.classification:
        tags = [_tag(each) for each in about.classification]
        facets["tags"] = facet(f"1-0-0/Tags{kind}", tags=tags)
    return facets


def _tag(text: str) -> dict[str, str]:
    key, _, value = text.partition(":")
    return {"key": key.strip(), "value": value.strip() or "true", "source": "USER"}


def facet(schema: str, **fields: Any) -> dict[str, Any]:
    """A facet of OpenLineage: its schema as `1-1-0/DocumentationJob`, and what it says."""
    name = schema.rsplit("/", 1)[-1]
    url = f"{_SPEC}/facets/{schema}Facet.json#/$defs/{name}Facet"
    return {"_producer": PRODUCER, "_schemaURL": url, **fields}


def _uuid7() -> str:
    """A UUID whose order is that of time (RFC 9562, version 7)."""
    number = time.time_ns() // 1_000_000 << 80 | secrets.randbits(80)
    number = number & ~(0xF << 76) | 7 << 76
    return str(uuid.UUID(int=number & ~(0b11 << 62) | 0b10 << 62))
