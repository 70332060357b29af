"""Files at a git revision, and those that changed since.

Raises ConfigError if git fails or is missing, with its message.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from headwater.errors import ConfigError

_SECONDS = 60.0


class Revision:
    """The revision that a pull request is compared with: where it branched off from `ref`.

    `folder` is any folder in the repository. In a shallow clone, the revision itself is used.
    """

    def __init__(self, folder: Path, ref: str) -> None:
        """Find the merge base of `ref` and HEAD. Raises ConfigError if there is no such `ref`."""
        self._folder = folder
        self.root = Path(self._git("rev-parse", "--show-toplevel").strip())
        try:
            tip = self._git("rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}")
        except ConfigError:
            raise ConfigError(
                f"--base: git has no revision {ref!r}; fetch it, or pass another one"
            ) from None
        try:
            self.commit = self._git("merge-base", tip.strip(), "HEAD").strip()
        except ConfigError:  # a shallow clone
            self.commit = tip.strip()

    def text(self, path: str) -> str | None:
        """Return the content of a file; None if it did not exist."""
        try:
            return self._git("cat-file", "blob", f"{self.commit}:{path}")
        except ConfigError:
            return None

    def changed(self, pattern: str) -> list[str]:
        """Return the changed, new and deleted files, relative to the root of the repository."""
        pathspec = ("-z", "--", f":(top,glob)**/{pattern}")
        names = self._git("diff", "--name-only", "--no-renames", self.commit, *pathspec)
        names += self._git("ls-files", "--others", "--exclude-standard", "--full-name", *pathspec)
        return sorted(set(filter(None, names.split("\0"))))

    def _git(self, *arguments: str) -> str:
        """Return the output of a git command in the folder. Raises ConfigError if it fails."""
        try:
            result = subprocess.run(
                ["git", "-C", str(self._folder), *arguments],
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                stdin=subprocess.DEVNULL,
                timeout=_SECONDS,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise ConfigError(f"--base: git failed: {error}") from None
        if result.returncode:
            raise ConfigError(f"--base: git failed: {result.stderr.strip()}")
        return result.stdout
