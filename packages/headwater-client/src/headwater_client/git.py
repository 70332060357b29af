"""Git locations of files."""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import NotRequired, TypedDict

_SECONDS = 2.0


class GitLocation(TypedDict):
    """The fields of a sourceCodeLocation facet.

    `version` is the commit, with the suffix `-dirty` if tracked files have changed or the file is
    not tracked. `branch` is missing if no branch is checked out.
    """

    type: str
    url: str
    repoUrl: str
    path: str
    version: str
    branch: NotRequired[str]


def git_location(file: Path) -> GitLocation | None:
    """Return the git location of a file; None outside of git.

    Return None also if git is missing or does not answer within two seconds.
    """

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(file.absolute().parent), *arguments]
        result = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=_SECONDS
        )
        return result.stdout.strip() if result.returncode == 0 else ""

    with suppress(OSError, subprocess.SubprocessError):
        commit, prefix = git("rev-parse", "HEAD"), git("rev-parse", "--show-prefix")
        if not commit:
            return None
        repository = _url(git("remote", "get-url", "origin") or git("rev-parse", "--show-toplevel"))
        has_changes = git("status", "--porcelain", "--untracked-files=no")
        suffix = "-dirty" if has_changes or not git("ls-files", "--", file.name) else ""
        path, branch = prefix + file.name, git("branch", "--show-current")
        location: GitLocation = {
            "type": "git",
            "url": f"{repository.removesuffix('.git')}/blob/{commit}/{path}",
            "repoUrl": repository,
            "path": path,
            "version": commit + suffix,
        }
        return {**location, "branch": branch} if branch else location
    return None


def _url(remote: str) -> str:
    """Return git's remote address as a URL without user and password."""
    if remote.startswith("/"):
        return Path(remote).as_uri()
    url = re.sub(r"^[\w.-]+@([\w.-]+):", r"https://\1/", remote)  # git@github.com:team/jobs.git
    return re.sub(r"^(\w+://)[^/@]*@", r"\1", url)
