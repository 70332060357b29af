"""The library of dbt-ol, changed so that its events agree with the results of dbt.

It reads the artifacts of dbt: manifest.json (the project), run_results.json (the results of the
last command) and catalog.json (columns). A result is that of one node, such as a model or test.

Methods with the library's names override its behavior; the library calls them.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from openlineage.common.provider.dbt import DbtLocalArtifactProcessor

from headwater.config import parse_yaml
from headwater.errors import ConfigError, HeadwaterError, shown
from headwater.plugins.harvest._deferral import defer_tables
from headwater.plugins.harvest._freshness import read_freshness, run_results
from headwater.plugins.harvest._manifest import (
    Artifact,
    check_manifest,
    correct_test,
    missing_profile,
    omitted_table,
)

_RUNS = ("build", "run", "seed", "snapshot", "test")
"""The commands of dbt whose results can be imported."""
_NAMES = {"generate": "docs generate"}


class Processor(DbtLocalArtifactProcessor):  # type: ignore[misc]
    """The library, with artifacts changed so that its events agree with the results of dbt."""

    project = Path()
    """The folder of the project."""

    def get_dbt_profiles_dir(self, command: list[str]) -> str:
        """Return the folder of profiles.yml, for a run whose own profile is missing.

        It is that of `--profiles-dir` or `DBT_PROFILES_DIR`, else the working directory or the
        project if it contains the file, else `~/.dbt`.

        `command` is dbt's command line. dbt itself searches in this order.
        """
        if not (command or os.environ.get("DBT_PROFILES_DIR")):
            for folder in (Path.cwd(), self.project):
                if (folder / "profiles.yml").is_file():
                    return str(folder)
        return str(super().get_dbt_profiles_dir(command))

    @staticmethod
    def load_yaml(path: str) -> Artifact:
        """Load a file of dbt, which may have a limited number of aliases.

        Raises:
            FileNotFoundError: the library then reads another file.
            ConfigError: the file is no mapping or too large.
        """
        content = parse_yaml(Path(path).read_bytes(), path, may_alias=True)
        if not isinstance(content, dict):
            raise ConfigError(f"{path}: received {shown(content)}, expected a mapping")
        return content

    @classmethod
    def load_metadata(cls, path: str, versions: list[int], logger: logging.Logger) -> Artifact:
        """Load an artifact; the errors that the library raises do not name the file."""
        try:
            artifact: Artifact = super().load_metadata(path, versions, logger)
        except FileNotFoundError:
            if Path(path).name == "run_results.json":  # only `dbt source freshness` ran
                return run_results(Path(path), read_freshness(Path(path).parent))
            raise
        except Exception as error:  # of any type if the content is malformed
            reason = str(error)[:200] or repr(error)
            raise ConfigError(f"{path}: not an artifact of dbt: {reason}; run dbt again") from None
        return artifact

    def get_dbt_metadata(self) -> tuple[Artifact, Artifact, Artifact, Artifact | None]:
        """Return manifest, run_results, profile and catalog.

        Tests without a result, and those that the library omits, are left out.

        Changes of the artifacts are made in memory only.
        """
        try:
            manifest, results, profile, catalog = super().get_dbt_metadata()
        except (FileNotFoundError, KeyError) as error:
            folder = self.get_dbt_profiles_dir(self.dbt_command_line)
            raise missing_profile(error, folder, self.profile_name) from None
        check_manifest(manifest, self.manifest_path)
        defer_tables(manifest, results)
        for source in manifest.get("sources", {}).values():  # the library reads only the name
            source["name"] = source.get("identifier") or source["name"]
        results["results"] = [
            item
            for item in results["results"]
            if not (is_test(item) and (is_skipped(item) or omitted_table(manifest, item)))
        ]
        for item in results["results"]:
            if is_test(item):
                correct_test(manifest, item)
            elif item["status"] == "partial success":  # of a model that runs in batches
                item["status"] = "error"
        return manifest, results, profile, catalog


def is_test(result: Artifact) -> bool:
    """Return True for the result of a test."""
    return bool(result["unique_id"].startswith("test."))


def is_skipped(result: Artifact) -> bool:
    """Return True for the result of a node that dbt skipped."""
    return bool(result["status"] == "skipped")


def check_command(path: str, results: Artifact) -> None:
    """Raise HeadwaterError if the results are not those of a run.

    Other commands, such as `dbt docs generate`, replace the results of the last run.
    """
    command: str = (results.get("args") or {}).get("which") or "unknown"
    if command not in _RUNS:
        raise HeadwaterError(
            f"{path}: received the results of `dbt {_NAMES.get(command, command)}`, expected those"
            f" of one of: {', '.join(_RUNS)}. Run one of them again, then import its results"
            " before another command replaces them; `dbt docs generate --no-compile` keeps them"
        )
