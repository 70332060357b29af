"""/api/v2/keys: the API keys, for who has the scope `admin`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from throughline.api.http import LiveState, answer, answered
from throughline.log import add_key, keys_of, remove_key

router = APIRouter(prefix="/api/v2/keys")


class NewKey(BaseModel):
    """A key to be made."""

    name: Annotated[str, Field(examples=["spark"])]
    scopes: list[Annotated[str, Field(examples=["write"])]]


@router.get("")
def list_keys(live: LiveState) -> Response:
    """The keys by name, with their scopes, never their text."""
    return answer([key.shown() for key in keys_of(live.log)])


_MADE = {"name": "spark", "key": "tl_0a1b2c3d4e5f"}


@router.post("", status_code=201, responses={201: answered("made", _MADE)})
def post_key(live: LiveState, new: NewKey) -> Response:
    """Make a key; `key` is its text, which is not kept and cannot be had again."""
    return answer({"name": new.name, "key": add_key(live.log, new.name, new.scopes)}, 201)


@router.delete("/{name:segment}", status_code=204)
def delete_key(live: LiveState, name: str) -> Response:
    """Take a key away; it counts for a second at most."""
    remove_key(live.log, name)
    return Response(status_code=204)
