"""`throughline keys`: make, list and remove API keys, of a server or of a log."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from throughline.cli.client import Database, Key, Url, settings_of
from throughline.cli.source import request
from throughline.printable import escaped

app = typer.Typer(
    help="""Make, list and remove the API keys of a server.

    Example: throughline keys add spark --scope write --database lineage.db
    """,
    no_args_is_help=True,
)

_PATH = "/api/v2/keys"


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Whose key it is, or what it is for.")],
    scope: Annotated[str, typer.Option(help="What it may: read, write, admin; with commas.")],
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
) -> None:
    """Make a key and print it, once: only its hash is kept.

    Example: throughline keys add spark --scope write --database lineage.db
    """
    import json

    scopes = [each.strip() for each in scope.split(",") if each.strip()]
    settings = settings_of(url, database, api_key)
    if database is None:
        body = json.dumps({"name": name, "scopes": scopes}).encode()
        _show(request(settings, _PATH, body)["key"])
        return
    from throughline.log import EventLog, add_key

    with closing(EventLog(settings.database)) as log:
        _show(add_key(log, name, scopes))


def _show(key: str) -> None:
    typer.echo("The key is shown this once: keep it.", err=True)
    typer.echo(escaped(key))


@app.command("list")
def list_(
    url: Url = None,
    database: Database = None,
    api_key: Key = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the keys, with their scopes.

    Example: throughline keys list --database lineage.db
    """
    settings = settings_of(url, database, api_key)
    if database is None:
        found = request(settings, _PATH)
    else:
        from throughline.log import EventLog, keys_of

        with closing(EventLog(settings.database, must_exist=True)) as log:
            found = [key.info() for key in keys_of(log)]
    if as_json:
        from throughline.cli.render import print_json

        print_json(found)
        return
    typer.echo(f"{'name':24} {'may':18} since" if found else "There are no keys.")
    for key in found:
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
    """Take a key away; servers answer to it for a second at most.

    Example: throughline keys remove spark --database lineage.db
    """
    from urllib.parse import quote

    settings = settings_of(url, database, api_key)
    if database is None:
        request(settings, f"{_PATH}/{quote(name, safe='')}", method="DELETE")
        return
    from throughline.log import EventLog, remove_key

    with closing(EventLog(settings.database, must_exist=True)) as log:
        remove_key(log, name)
