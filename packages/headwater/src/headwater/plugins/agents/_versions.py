"""Tools for versions of datasets and for incidents."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from headwater.plugins.agents._reply import Context, Status, reply
from headwater.plugins.agents._tool import Text, Time, Tool
from headwater.query.models import Json

_MOST = 50


class Version(Tool):
    """Return the writers and readers of one version of a dataset, and what contains its data.

    `wasRead` is `yes` if a run reported that it read the version, `by_time` if this is derived from
    times, and `unknown` otherwise, because a reader may not report its runs. `unknown` lists what
    was not reported.
    """

    name = "version"
    version: Annotated[
        str,
        Text,
        Field(description="DATASET@VERSION, or a version alone if only one dataset has it."),
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
            recalled=found["taint"],
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


class Incident(Tool):
    """Return the cause of a failed check or bad version, who used it, and what to run again.

    `now` is true for affected nodes that still contain or use the data. Datasets in `clean` are
    proven not to contain it; those in `unprovenClean` may. `unknown` lists what was not reported.
    """

    name = "incident"
    subject: Annotated[
        str,
        Text,
        Field(description="DATASET@VERSION, a run, or a dataset or job whose check fails now."),
    ]
    as_of: Time | None = None

    def answer(self, context: Context) -> Json:
        """Return the bad versions, the changes, the affected nodes and the commands."""
        found = context.query("incident", {"subject": self.subject, "limit": _MOST})
        affected = [
            {"id": node["id"], "now": node["isCurrent"], "by": node["by"], "owners": node["owners"]}
            for node in found["affected"]
        ]
        return reply(
            "found",
            context.health(),
            versions=[
                {"id": bad["id"], "version": bad["version"], "by": bad["by"]}
                | {"failedChecks": bad["checks"], "writers": list(map(_writer, bad["writers"]))}
                for bad in found["versions"]
            ],
            changes=[
                {"id": change["id"], "previous": change["previous"], "code": change["code"]}
                | {"inputs": change["inputs"]}
                for change in found["changes"]
            ],
            readerCount=found["readerCount"],
            affectedCount=found["affectedCount"],
            affected=affected,
            clean=[item["id"] for item in found["clean"] if item["isProven"]],
            unprovenClean=[item["id"] for item in found["clean"] if not item["isProven"]],
            reruns=[
                {"id": _job(rerun["job"]), "command": rerun["command"]} for rerun in found["reruns"]
            ],
            unknown=gaps_in_short(found["unknown"]),
            about=[node["id"] for node in affected],
            measures=("inputs", "outputs"),
            unreported=[gap["message"] for gap in found["unknown"]],
            page=context.page("incident", subject=self.subject),
        )


def gaps_in_short(gaps: list[Json]) -> list[Json]:
    """Return what is unknown, with the ids of the jobs that did not report it."""
    return [{"message": gap["message"], "jobs": list(map(_job, gap["jobs"]))} for gap in gaps]


def _writer(writer: Json) -> Json:
    """Return a writer of a version in short."""
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
