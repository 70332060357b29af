"""Custom OpenLineage facet for models, which the standard facets do not cover."""

from __future__ import annotations

import attr
from openlineage.client.generated.base import DatasetFacet

MODEL_FACET = "nycTaxi_model"


@attr.define
class ModelFacet(DatasetFacet):
    """A fitted model: its kind, training period, errors on held-out days and gate result.

    `gate` is `passed`, or `ungated: ` and the reason why the gate did not approve the data.
    """

    model: str
    service: str
    trainedFrom: str
    trainedTo: str
    metrics: dict[str, float]
    gate: str
