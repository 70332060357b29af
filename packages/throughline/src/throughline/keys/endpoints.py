"""/api/v2/keys: the API keys; needs the scope `admin`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from throughline.http.models import NewKeyInfo
from throughline.http.routes import LiveState, answer
from throughline.keys.store import KeyInfo, add_key, keys_of, remove_key

router = APIRouter(prefix="/api/v2/keys")


class NewKey(BaseModel):
    """A key to create."""

    name: Annotated[str, Field(examples=["spark"])]
    scopes: list[Annotated[str, Field(examples=["write"])]]


@router.get("", response_model=list[KeyInfo])
def list_keys(live: LiveState) -> Response:
    """Return the keys by name with their scopes, without their texts."""
    return answer([key.info() for key in keys_of(live.log)])


@router.post("", status_code=201, response_model=NewKeyInfo)
def post_key(live: LiveState, new: NewKey) -> Response:
    """Create a key; its text is not stored and cannot be shown again."""
    created: NewKeyInfo = {"name": new.name, "key": add_key(live.log, new.name, new.scopes)}
    return answer(created, 201)


@router.delete("/{name:segment}", status_code=204)
def delete_key(live: LiveState, name: str) -> Response:
    """Delete a key; servers accept it for one more second at most."""
    remove_key(live.log, name)
    return Response(status_code=204)
