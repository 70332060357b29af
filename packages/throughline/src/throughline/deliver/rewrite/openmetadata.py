"""OpenMetadata: edges between tables, made of COMPLETE events that have inputs and outputs.

It looks tables up by the last parts of a name with dots, and some versions read column lineage
among the output facets only.
"""

from __future__ import annotations

from throughline.deliver.datasets import Body
from throughline.deliver.known import Known
from throughline.deliver.rewrite.rewriting import (
    Kept,
    Rewriting,
    glue_table,
    is_run,
    renamed,
    whole,
)


def rewrite(event: Body, known: Known) -> list[Body]:
    """The COMPLETE event with all that is known; no other leaves a trace there."""
    if not is_run(event) or event.get("eventType") != "COMPLETE":
        return []
    body = renamed(whole(event, known), _dotted)
    if not (body["inputs"] and body["outputs"]):
        return []
    for dataset in body["outputs"]:
        if lineage := dataset.get("facets", {}).get("columnLineage"):
            dataset["outputFacets"] = {**dataset.get("outputFacets", {}), "columnLineage": lineage}
    return [body]


def _dotted(namespace: str, name: str) -> tuple[str, str]:
    return namespace, glue_table(namespace, name) or name


OPENMETADATA = Rewriting(
    rewrite,
    Kept(facets=frozenset({"dataset columnLineage", "dataset symlinks", "job sql"}), runs=False),
    dataset_name=_dotted,
)
