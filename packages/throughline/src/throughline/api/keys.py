"""/api/v2/keys: the API keys, for who has the scope `admin`."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel

from throughline.api.http import LiveState, answer
from throughline.log import add_key, keys_of, remove_key

router = APIRouter(prefix="/api/v2/keys")


class NewKey(BaseModel):
    """A key to be made."""

    name: str
    scopes: list[str]


@router.get("")
def list_keys(live: LiveState) -> Response:
    """The keys by name, with their scopes, never their text."""
    return answer([key.shown() for key in keys_of(live.log)])


@router.post("", status_code=201)
def post_key(live: LiveState, new: NewKey) -> Response:
    """Make a key; `key` is its text, which is not kept and cannot be had again."""
    return answer({"name": new.name, "key": add_key(live.log, new.name, new.scopes)}, 201)


@router.delete("/{name:segment}", status_code=204)
def delete_key(live: LiveState, name: str) -> Response:
    """Take a key away; it counts for a second at most."""
    remove_key(live.log, name)
    return Response(status_code=204)
