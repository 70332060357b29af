"""`./run create-infra` and `./run destroy-infra`."""

from __future__ import annotations

import sys

import typer

from infra.aws import Dialogue, connect, explained
from infra.destroy import destroy_stack
from infra.errors import InfraError
from infra.stack import apply_stack
from lakehouse.settings import Settings


def create_infra(
    settings: Settings,
    profile: str | None,
    dry_run: bool,
    yes: bool,
    trusted_principal: str = "",
) -> None:
    """Make or update the bucket, the Glue database and the role; say how to use them."""
    aws = connect(settings, profile)
    with explained():
        outputs = apply_stack(
            aws, _dialogue(yes), dry_run=dry_run, trusted_principal=trusted_principal
        )
    if not outputs or dry_run:
        return
    typer.echo(
        f"""
Role for jobs: {outputs["RoleArn"]}

To use the lakehouse, put this into settings.yaml:

lakehouse: glue
bucket: {outputs["BucketName"]}
aws_account: "{aws.account}"
aws_region: {aws.region}"""
    )


def destroy_infra(settings: Settings, profile: str | None, dry_run: bool, yes: bool) -> None:
    """Delete the stack with all data in it, after listing what that is."""
    aws = connect(settings, profile)
    with explained():
        destroy_stack(aws, _dialogue(yes), dry_run=dry_run)


def _dialogue(yes: bool) -> Dialogue:
    return Dialogue(say=typer.echo, confirm=lambda question: yes or _ask(question))


def _ask(question: str) -> bool:
    if not sys.stdin.isatty():
        raise InfraError(f"{question} There is no terminal to ask at: give --yes to go ahead.")
    return typer.confirm(question)
