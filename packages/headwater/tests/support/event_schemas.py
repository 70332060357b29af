"""Validation of events against the OpenLineage JSON schemas, for the tests of all packages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource


def event_validator(folder: Path) -> Callable[[Any], None]:
    """Return a function that validates an event and its facets against the schemas in `folder`.

    The function raises jsonschema.ValidationError if the event or a facet is invalid.
    """
    contents = [json.loads(file.read_text()) for file in folder.rglob("*.json")]
    registry: Registry[Any] = Registry().with_resources(
        (content["$id"], Resource.from_contents(content)) for content in contents
    )

    def validate(event: Any) -> None:
        holders = [event[key] for key in ("run", "job", "dataset") if key in event]
        holders += [*event.get("inputs", ()), *event.get("outputs", ())]
        kinds = ("facets", "inputFacets", "outputFacets")
        groups = [holder.get(kind, {}) for holder in holders for kind in kinds]
        facets = [facet for group in groups for facet in group.values()]
        pairs = [(event["schemaURL"], event), *((f["_schemaURL"], f) for f in facets)]
        for url, value in pairs:
            Draft202012Validator(
                {"$ref": url}, registry=registry, format_checker=FormatChecker()
            ).validate(value)

    return validate
