"""throughline's own API: queries and single runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Query, Response

from throughline.graph.current import generations_of
from throughline.http.routes import LiveState, Tagged, answer
from throughline.query.registry import ApiQuery, ask, load_queries
from throughline.runs.models import RunAnswer
from throughline.runs.service import run_answer
from throughline.wire import http_name

router = APIRouter(route_class=Tagged)


def _endpoint(query: ApiQuery) -> Callable[..., Response]:
    def endpoint(live: LiveState, **values: Any) -> Response:
        return answer(ask(live, query, values))

    kind = inspect.Parameter.KEYWORD_ONLY
    live = inspect.Parameter("live", kind, annotation=LiveState)
    parameters = [_of_query(parameter) for parameter in query.parameters]
    endpoint.__signature__ = inspect.Signature([live, *parameters])  # type: ignore[attr-defined]
    endpoint.__name__ = f"get_{query.name}"
    endpoint.__doc__ = query.answer.__doc__
    return endpoint


def _of_query(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter for FastAPI, with its HTTP name and description."""
    texts = [text for text in get_args(parameter.annotation)[1:] if isinstance(text, str)]
    query = Query(alias=http_name(parameter.name), description=texts[0] if texts else None)
    return parameter.replace(annotation=Annotated[parameter.annotation, query])


for _query in load_queries().values():
    router.get(f"/api/v2/{_query.name}", response_model=_query.model)(_endpoint(_query))


@router.get("/api/v2/runs/{run_id:segment}", response_model=RunAnswer)
def get_run(live: LiveState, run_id: str) -> Response:
    """Return a run with parameters, code and dataset versions, and its descendants likewise."""
    with live.reading() as state:
        return answer(run_answer(generations_of(state), run_id))
