"""`throughline keys`: create, list and remove API keys of a server or a log."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from throughline.console.client import Database, Key, Url, settings_of
from throughline.console.printable import escaped
from throughline.console.source import request

app = typer.Typer(
    help="""Create, list and remove API keys.

    Example: throughline keys add spark --scope write --database lineage.db
    """,
    no_args_is_help=True,
)

_PATH = "/api/v2/keys"


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name of the key.")],
    scope: Annotated[str, typer.Option(help="Scopes, separated by commas: read, write, admin.")],
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
) -> None:
    """Create a key and print it once; only its hash is stored.

    Example: throughline keys add spark --scope write --database lineage.db
    """
    import json

    scopes = [part.strip() for part in scope.split(",") if part.strip()]
    settings = settings_of(url, database, api_key)
    if database is None:
        body = json.dumps({"name": name, "scopes": scopes}).encode()
        _print_key(request(settings, _PATH, body)["key"])
        return
    from throughline.keys.store import add_key
    from throughline.log import EventLog

    with closing(EventLog(settings.database)) as log:
        _print_key(add_key(log, name, scopes))


def _print_key(key: str) -> None:
    typer.echo("Save the key now; it cannot be shown again.", err=True)
    typer.echo(escaped(key))


@app.command("list")
def list_(
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List keys and their scopes.

    Example: throughline keys list --database lineage.db
    """
    settings = settings_of(url, database, api_key)
    if database is None:
        keys = request(settings, _PATH)
    else:
        from throughline.keys.store import keys_of
        from throughline.log import EventLog

        with closing(EventLog(settings.database, must_exist=True)) as log:
            keys = [key.info() for key in keys_of(log)]
    if as_json:
        from throughline.console.render import print_json

        print_json(keys)
        return
    typer.echo(f"{'name':24} {'scopes':18} since" if keys else "No keys.")
    for key in keys:
        typer.echo(
            f"{escaped(key['name']):24} {','.join(key['scopes']):18} {key['createdAt'][:10]}"
        )


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="The key's name.")],
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
) -> None:
    """Remove a key; servers reject it within a second.

    Example: throughline keys remove spark --database lineage.db
    """
    from urllib.parse import quote

    settings = settings_of(url, database, api_key)
    if database is None:
        request(settings, f"{_PATH}/{quote(name, safe='')}", method="DELETE")
        return
    from throughline.keys.store import remove_key
    from throughline.log import EventLog

    with closing(EventLog(settings.database, must_exist=True)) as log:
        remove_key(log, name)
