"""The tool about versions of datasets."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from headwater.agents._reply import Context, Status, reply
from headwater.agents._tool import Text, Time, Tool
from headwater.query.models import Json

_MOST = 50


class Version(Tool):
    """Return who made one version of a dataset, who read exactly it, and what contains its data.

    `wasRead` is `yes` if a run reported the version, `by_time` if only times show it, and `unknown`
    if no run is known: a reader may not report. `gaps` lists what was not reported.
    """

    name = "version"
    version: Annotated[
        str,
        Text,
        Field(description="DATASET@VERSION, or a version or run alone if one dataset has it."),
    ]
    as_of: Time | None = None

    def answer(self, context: Context) -> Json:
        """Return the writers, the readers and the affected nodes, with their versions."""
        found = context.query("version", {"version": self.version, "limit": _MOST})
        readers = [
            {"id": _job(reader["run"]["job"]), "runId": reader["run"]["runId"], "by": reader["by"]}
            for reader in found["readers"]
        ]
        affected = [
            {"id": node["id"], "versions": node["versions"][:3], "count": node["versionCount"]}
            | {"by": node["by"], "owners": node["owners"]}
            for node in found["affected"]
        ]
        status: Status = "found" if found["readerCount"] or found["writers"] else "not_reported"
        return reply(
            status,
            context.health(),
            node=found["id"],
            version=found["version"],
            writers=[_writer(writer) for writer in found["writers"]],
            wasRead=found["wasRead"],
            readerCount=found["readerCount"],
            readers=readers,
            affectedCount=found["affectedCount"],
            affected=affected,
            unknown=gaps_in_short(found["unknown"]),
            about=[found["id"], *(reader["id"] for reader in readers)],
            measures=("inputs", "outputs"),
            unreported=[gap["message"] for gap in found["unknown"]],
            page=context.page("version", version=f"{found['id']}@{found['version']}"),
        )


def gaps_in_short(gaps: list[Json]) -> list[Json]:
    """Return what is unknown, with the ids of the jobs that did not report it."""
    return [{"message": gap["message"], "jobs": list(map(_job, gap["jobs"]))} for gap in gaps]


def _writer(writer: Json) -> Json:
    return {
        "id": _job(writer["run"]["job"]),
        "runId": writer["run"]["runId"],
        "code": writer["code"].get("version"),
        "inputs": [
            {"id": used["id"], "versions": used["versions"], "by": used["by"]}
            for used in writer["inputs"]
        ],
    }


def _job(name: Json) -> str:
    return f"job:{name['namespace']}:{name['name']}"
