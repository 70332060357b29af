"""Datasets: of a namespace, one by any of its names, and its versions."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from throughline.api.http import Limit, LiveState, Offset, answer
from throughline.api.shapes import (
    dataset_node_shape,
    dataset_shape,
    run_shape,
    version_id,
    writes_of,
)
from throughline.errors import NotFoundError
from throughline.identity import DatasetName, canonical_name
from throughline.projection import Run, State
from throughline.spec import shown_time

router = APIRouter(prefix="/api/v1/namespaces/{namespace:segment}/datasets")


@router.get("")
def list_datasets(
    live: LiveState, namespace: str, limit: Limit = 100, offset: Offset = 0
) -> Response:
    """The datasets shown under a namespace, by name."""
    with live.reading() as state:
        if namespace not in state.namespaces:
            raise NotFoundError(f"Namespace '{namespace}' not found.")
        names = sorted(name for name in state.identity if name.namespace == namespace)
        shapes = [dataset_shape(state, name) for name in names[offset : offset + limit]]
        return answer({"totalCount": len(names), "datasets": shapes})


@router.get("/{dataset:segment}")
def get_dataset(live: LiveState, namespace: str, dataset: str) -> Response:
    """One dataset, by whichever of its names."""
    with live.reading() as state:
        return answer(dataset_shape(state, _find(state, namespace, dataset)))


@router.get("/{dataset:segment}/versions")
def list_versions(
    live: LiveState, namespace: str, dataset: str, limit: Limit = 100, offset: Offset = 0
) -> Response:
    """The versions of a dataset, the newest first."""
    with live.reading() as state:
        name = _find(state, namespace, dataset)
        made = writes_of(state, name)
        page = [_version(state, name, *item) for item in made[offset : offset + limit]]
        return answer({"versions": page, "totalCount": len(made)})


def _version(state: State, name: DatasetName, version: str, run: Run) -> dict[str, Any]:
    return {
        **dataset_node_shape(state, name),
        "createdAt": shown_time(run.last),
        "version": version_id(state, name, version),
        "datasetVersion": version,
        "createdByRun": run_shape(state, run),
    }


def _find(state: State, namespace: str, name: str) -> DatasetName:
    spelled = canonical_name(namespace, name)
    if spelled not in state.identity:
        raise NotFoundError(f"Dataset '{name}' not found.")
    return state.identity.primary(spelled)
