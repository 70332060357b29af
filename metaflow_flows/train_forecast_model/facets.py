"""What lineage is told of a model beyond OpenLineage's own facets, which have no word for it."""

from __future__ import annotations

import attr
from openlineage.client.generated.base import DatasetFacet

MODEL_FACET = "nycTaxi_model"


@attr.define
class ModelFacet(DatasetFacet):
    """A fitted model: which one, of what history, its errors on the days held out, and the gate.

    `gate` is `passed`, or `ungated: ` and why nobody vouched for what it was trained on.
    """

    model: str
    service: str
    trainedFrom: str
    trainedTo: str
    metrics: dict[str, float]
    gate: str
