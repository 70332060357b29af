"""`headwater keys`: create, list and remove API keys of a server or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from headwater.console.client import Client, with_client
from headwater.console.render import print_line, print_table
from headwater.text import escaped

if TYPE_CHECKING:
    from headwater.keys.store import KeyInfo

app = typer.Typer(
    help="""Create, list and remove API keys.

    Example: headwater keys add spark --scope write --database lineage.db
    """,
    no_args_is_help=True,
)

_PATH = "/api/v2/keys"


@app.command()
@with_client(as_json=False)
def add(
    client: Client,
    name: Annotated[str, typer.Argument(help="Name of the key.")],
    scope: Annotated[
        str,
        typer.Option(
            help="Comma-separated: read (run queries), sql (receive SQL and code in responses),"
            " write (send events and recalls, change the state of findings), admin (everything)."
        ),
    ],
) -> None:
    """Create a key and print it once; only its hash is stored.

    As soon as a server has a key, every request needs one.

    Example: headwater keys add spark --scope write --database lineage.db
    """
    scopes = [part.strip() for part in scope.split(",") if part.strip()]
    if client.is_local:
        from headwater.keys.store import add_key

        with client.log(must_exist=False) as log:
            key = add_key(log, name, scopes)
    else:
        key = client.request(_PATH, {"name": name, "scopes": scopes})["key"]
    print_key(key)


def print_key(key: str) -> None:
    """Print a new key to stdout, with a hint on stderr."""
    print_line("Save the key now; it cannot be shown again.", is_error=True)
    print_line(escaped(key))


@app.command("list")
@with_client()
def list_(client: Client) -> None:
    """List keys and their scopes.

    Example: headwater keys list --database lineage.db
    """
    if client.is_local:
        from headwater.keys.store import keys_of

        with client.log() as log:
            keys = [key.info() for key in keys_of(log)]
    else:
        keys = client.request(_PATH)
    client.show(keys, print_keys)


def print_keys(keys: list[KeyInfo]) -> None:
    """Print one key per line, with its scopes and the day of its creation."""
    rows = [(key["name"], ",".join(key["scopes"]), key["createdAt"][:10]) for key in keys]
    print_table([("name", "scopes", "since"), *rows] if rows else [], empty="No keys.")


@app.command()
@with_client(as_json=False)
def remove(client: Client, name: Annotated[str, typer.Argument(help="The key's name.")]) -> None:
    """Remove a key; servers reject it within a second.

    Example: headwater keys remove spark --database lineage.db
    """
    if client.is_local:
        from headwater.keys.store import remove_key

        with client.log() as log:
            remove_key(log, name)
    else:
        client.request(f"{_PATH}/{quote(name, safe='')}", method="DELETE")
