"""GET /openapi.json: what FastAPI knows of the routes, and answers to a small sample lineage."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from throughline.api.document.build import document
from throughline.api.http import answer

__all__ = ["document", "router"]

router = APIRouter()


@router.get("/openapi.json", include_in_schema=False)
def get_document(request: Request) -> Response:
    """The OpenAPI document, made when it is first asked for."""
    state = request.app.state
    if state.document is None:
        state.document = document(request.app)
    return answer(state.document)
