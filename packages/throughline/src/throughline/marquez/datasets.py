"""Endpoints of datasets and their versions."""

from __future__ import annotations

from heapq import nsmallest

from fastapi import APIRouter, Response

from throughline.errors import NotFoundError
from throughline.http.admission import Queried
from throughline.http.routes import Limit, LiveState, Offset, answer
from throughline.identity import DatasetName, canonical_name
from throughline.marquez import models as marquez
from throughline.marquez.shapes import Shapes
from throughline.projection import State

router = APIRouter(prefix="/api/v1/namespaces/{namespace:segment}/datasets", route_class=Queried)


@router.get("", response_model=marquez.Datasets)
def list_datasets(
    live: LiveState, namespace: str, limit: Limit = 100, offset: Offset = 0
) -> Response:
    """Return the datasets of a namespace, by name."""
    with live.reading() as state:
        if namespace not in state.namespaces:
            raise NotFoundError(f"Namespace '{namespace}' not found.")
        names = [name for name in state.identity if name.namespace == namespace]
        shapes = Shapes(state)
        page = [shapes.dataset(name) for name in nsmallest(offset + limit, names)[offset:]]
        return answer({"totalCount": len(names), "datasets": page})


@router.get("/{dataset:segment}", response_model=marquez.Dataset)
def get_dataset(live: LiveState, namespace: str, dataset: str) -> Response:
    """Return a dataset by any of its names."""
    with live.reading() as state:
        return answer(Shapes(state).dataset(_find(state, namespace, dataset)))


@router.get("/{dataset:segment}/versions", response_model=marquez.MarquezDatasetVersions)
def list_versions(
    live: LiveState, namespace: str, dataset: str, limit: Limit = 100, offset: Offset = 0
) -> Response:
    """Return the versions of a dataset, newest first."""
    with live.reading() as state:
        name = _find(state, namespace, dataset)
        shapes = Shapes(state)
        versions = shapes.versions.of_dataset(name)
        page = [
            shapes.dataset_version(name, version) for version in versions[offset : offset + limit]
        ]
        return answer({"versions": page, "totalCount": len(versions)})


@router.get(
    "/{dataset:segment}/versions/{version:segment}", response_model=marquez.MarquezDatasetVersion
)
def get_version(live: LiveState, namespace: str, dataset: str, version: str) -> Response:
    """Return one version of a dataset, by its id or the version in its version facet."""
    with live.reading() as state:
        name = _find(state, namespace, dataset)
        shapes = Shapes(state)
        for candidate in (*shapes.versions.of_dataset(name), shapes.versions.initial(name)):
            if version in (candidate.id, candidate.label):
                return answer(shapes.dataset_version(name, candidate))
    raise NotFoundError(f"Dataset version '{version}' not found.")


def _find(state: State, namespace: str, name: str) -> DatasetName:
    spelled = canonical_name(namespace, name)
    if spelled not in state.identity:
        raise NotFoundError(f"Dataset '{name}' not found.")
    return state.identity.primary(spelled)
