"""The commands `provenance` and `verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.console.client import AsJson, Client, with_client
from headwater.console.render import print_json
from headwater.errors import ConfigError
from headwater.plugins.provenance.printing import print_bundle, print_provenance, print_verified
from headwater.query.parameters import LevelName

if TYPE_CHECKING:
    from headwater.plugins.provenance.models import Resource


@with_client(past=True)
def provenance(
    client: Client,
    node: Annotated[str, typer.Argument(help="A dataset or a model: an id or a name.")],
    version: Annotated[
        str | None, typer.Option(help="A version, or the run that wrote it. [current contents]")
    ] = None,
    level: LevelName = "task",
    bundle: Annotated[
        Path | None, typer.Option(help="File for a signed in-toto statement; requires --key.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="With --bundle: the private key, a PEM file.")
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option("--file", help="With --bundle: a file that the statement is also about."),
    ] = None,
) -> None:
    """List every run, input and code version that data comes from.

    The sources, which no known run wrote, come last. With --bundle, write it as a signed statement
    that `headwater verify` checks without a server.

    Example: headwater provenance TrainForecastModelFlow/model --json
    """
    if bundle is None:
        if key or files:
            raise ConfigError("--key and --file: received without --bundle FILE, expected with it")
        params = {"node": node, "version": version, "level": level}
        client.print("provenance", params, print_provenance)
        return
    if key is None:
        raise ConfigError("--bundle: received without --key, expected a private key (a PEM file)")
    from headwater.plugins.provenance.envelope import digests, signed

    statement = client.query("provenance/statement", {"node": node, "version": version})
    statement["subject"] += [{"name": file.name, "digest": digests(file)} for file in files or ()]
    envelope = json.dumps(signed(statement, key))
    try:
        bundle.write_text(envelope + "\n")
    except OSError as error:
        raise ConfigError(f"--bundle {bundle}: {error.strerror}") from None
    client.show(statement, lambda found: print_bundle(found, bundle))


def verify(
    bundle: Annotated[Path, typer.Argument(help="A file written by `provenance --bundle`.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Files that must match the statement.")
    ] = None,
    *,
    key: Annotated[Path, typer.Option(help="The public key of the signer, a PEM file.")],
    as_json: AsJson = False,
) -> None:
    """Check the signature and files of a provenance statement.

    It needs no server. The exit code is 1 if the signature or a file does not match.

    Example: headwater verify model.provenance.json model.pkl --key public.pem
    """
    from headwater.plugins.provenance.envelope import digests, verified

    statement, key_id = verified(bundle, key)
    found = {str(file): _subject_of(statement["subject"], digests(file)) for file in files or ()}
    if as_json:
        print_json({"statement": statement, "keyId": key_id, "files": found})
    else:
        print_verified(statement, key_id, found)
    if None in found.values():
        raise typer.Exit(1)


def _subject_of(subjects: list[Resource], digests: dict[str, str]) -> str | None:
    """Return the name of the subject with all digests of a file; None if there is none."""
    for subject in subjects:
        stated = subject.get("digest", {})
        common = stated.keys() & digests.keys()
        if common and all(digests[kind] == stated[kind] for kind in common):
            return subject["name"]
    return None


commands = typer.Typer()
commands.command(rich_help_panel="Query")(provenance)
commands.command(rich_help_panel="Query")(verify)
