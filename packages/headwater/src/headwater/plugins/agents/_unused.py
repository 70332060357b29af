"""The tool for unused datasets."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from headwater.plugins.agents._reply import Context, Status, reply, shortened
from headwater.plugins.agents._tool import Text, Time, Tool
from headwater.query.models import Json

_MOST = 30


class Unused(Tool):
    """List datasets that jobs write and nothing was reported to read for some days.

    The most expensive ones come first; `runTimeMs` is the duration of the runs that wrote them in
    this time. Only `unused` ones can be removed; `unknown` ones may have a reader that does not
    report, see `reasons`. Checks of a dataset do not count as reads.
    """

    name = "unused"
    days: Annotated[int, Field(ge=1, le=3_650, description="Days without a read.")] = 30
    text: Annotated[str, Text, Field(description="Part of a name.")] | None = None
    as_of: Time | None = None

    def answer(self, context: Context) -> Json:
        """Return the datasets with their verdicts, last reads and costs."""
        where = {"days": self.days, "text": self.text, "limit": _MOST}
        found = context.query("unused", where)
        items = [_dataset(item) for item in found["items"]]
        status: Status = "found" if items else "none"
        return reply(
            status,
            context.health(),
            since=found["since"],
            counts=found["counts"],
            runTimeMs=found["runTimeMs"],
            datasets=items,
            note=None if items else "No matching dataset is unused.",
            about=[item["id"] for item in items],
            unreported=sorted({reason for item in items for reason in item.get("reasons", ())}),
            page=context.page("datasets", fresh="unused", days=str(self.days)),
        )


def _dataset(item: Json) -> Json:
    """Return an item of the query `unused` in short, without empty values."""
    read = item["lastRead"]
    short: Json = {
        "id": item["id"],
        "verdict": item["verdict"],
        "reasons": [shortened(_reason(reason)) for reason in item["reasons"]],
        "lastReadAt": read and read["at"],
        "lastReader": read and f"job:{read['job']['namespace']}:{read['job']['name']}",
        "writtenAt": item["writtenAt"],
        "runs": item["runCount"],
        "runTimeMs": item["runTimeMs"],
        "owners": item["owners"] or item["jobOwners"],
    }
    return {name: value for name, value in short.items() if value not in (None, [])}


def _reason(reason: Json) -> str:
    names = ", ".join(job["name"] for job in reason["jobs"][:3])
    return f"{reason['message']}: {names}" if names else reason["message"]
