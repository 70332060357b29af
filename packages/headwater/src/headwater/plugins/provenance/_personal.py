"""Decide whether a dataset contains personal data, from the tags `pii` of it and its inputs.

A tag has the column that has it now, and its origin: the column for which it was reported. It
passes along column lineage; without column lineage, it passes to the whole dataset.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from headwater.identity import DatasetName
from headwater.lineage.tags import ColumnTag
from headwater.plugins.provenance import models

_MESSAGES: dict[models.PersonalDataState, str] = {
    "contained": "Contains PII: it has columns derived from columns tagged PII",
    "possible": (
        "May contain PII: its inputs have columns tagged PII, and no column lineage excludes them"
    ),
    "excluded": (
        "Inputs have columns tagged PII, but column lineage shows that they are masked or not used"
    ),
    "untagged": (
        "No input column is tagged PII. Columns without this tag are not known to be free of it"
    ),
}
_DELETED = "No input column is tagged PII, but older sources were deleted"
_NO_TAGS = "No input column is tagged PII, but the inputs have no tags at all"


def personal_data(
    root: DatasetName,
    inputs: Collection[DatasetName],
    tags: Iterable[ColumnTag],
    has_deleted_sources: bool,
) -> models.PersonalData:
    """Decide from the tags of a dataset and of its inputs whether it contains personal data.

    Args:
        root: the dataset.
        inputs: every dataset that upstream runs read. Other outputs of these runs have tags too,
            but the contents do not come from them.
        tags: the tags of all these datasets, including inherited ones.
        has_deleted_sources: True if sources of the contents were deleted from the log.
    """
    found = list(tags)
    pii = [tag for tag in found if tag.tag.is_pii and tag.column.dataset in {root, *inputs}]
    own = [tag for tag in pii if tag.column.dataset == root]
    # A dataset without column lineage may contain everything that its run read.
    if any(tag.column.field or tag.origin.dataset == root for tag in own):
        return _answer("contained", own)
    if own:
        return _answer("possible", own)
    if pii:
        return _answer("excluded", pii)
    if has_deleted_sources or not found:
        return {"state": "unknown", "message": _DELETED if found else _NO_TAGS, "columns": []}
    return _answer("untagged", [])


def _answer(state: models.PersonalDataState, tags: Iterable[ColumnTag]) -> models.PersonalData:
    """Return the part of the answer, with the names of the columns that were tagged."""
    names = {".".join(filter(None, (tag.origin.dataset.name, tag.origin.field))) for tag in tags}
    return {"state": state, "message": _MESSAGES[state], "columns": sorted(names)}
