"""Namespaces of jobs and datasets."""

from __future__ import annotations

from fastapi import APIRouter, Response

from throughline.errors import NotFoundError
from throughline.http.admission import Queried
from throughline.http.routes import Limit, LiveState, Offset, answer
from throughline.marquez import models as marquez
from throughline.marquez.shapes import namespace_shape

router = APIRouter(prefix="/api/v1/namespaces", route_class=Queried)


@router.get("", response_model=marquez.Namespaces)
def list_namespaces(live: LiveState, limit: Limit = 100, offset: Offset = 0) -> Response:
    """The namespaces that events named, by name."""
    with live.reading() as state:
        names = sorted(state.namespaces)[offset : offset + limit]
        return answer({"namespaces": [namespace_shape(state, name) for name in names]})


@router.get("/{namespace:segment}", response_model=marquez.Namespace)
def get_namespace(live: LiveState, namespace: str) -> Response:
    """One namespace."""
    with live.reading() as state:
        if namespace not in state.namespaces:
            raise NotFoundError(f"Namespace '{namespace}' not found.")
        return answer(namespace_shape(state, namespace))
