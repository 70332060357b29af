"""/api/v2/keys: the API keys; needs the scope `admin`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from headwater.errors import ConfigError
from headwater.http.access import access_of
from headwater.http.models import NewKeyInfo
from headwater.http.routes import LiveState, Strict, answer
from headwater.keys.store import KeyInfo, add_key, keys_of, remove_key

router = APIRouter(prefix="/api/v2/keys", route_class=Strict)


class NewKey(BaseModel):
    """A key to create."""

    name: Annotated[str, Field(examples=["spark"])]
    scopes: list[Annotated[str, Field(examples=["write"])]]


@router.get("", response_model=list[KeyInfo])
def list_keys(live: LiveState) -> Response:
    """Return the keys by name with their scopes, without their texts."""
    return answer([key.info() for key in keys_of(live.log)])


@router.post("", status_code=201, response_model=NewKeyInfo)
def post_key(request: Request, live: LiveState, new: NewKey) -> Response:
    """Create a key; its text is not stored and cannot be shown again.

    The first key of a server must have the scope `admin`: from then on, every request needs a key.
    """
    if not access_of(request.scope).has_key and "admin" not in new.scopes:
        raise ConfigError(
            f"scopes: received {', '.join(new.scopes)!r}, but the first key must have the scope"
            " admin, because the server then requires a key for every request: create one first"
            " with `headwater keys add admin --scope admin`"
        )
    created: NewKeyInfo = {"name": new.name, "key": add_key(live.log, new.name, new.scopes)}
    return answer(created, 201)


@router.delete("/{name:segment}", status_code=204)
def delete_key(live: LiveState, name: str) -> Response:
    """Delete a key; servers accept it for one more second at most."""
    remove_key(live.log, name)
    return Response(status_code=204)
