"""`./run create-infra`, `./run infra-status` and `./run destroy-infra`."""

from __future__ import annotations

import sys

from commands.output import confirm, say
from infra.aws import Dialogue, connect, explained
from infra.destroy import destroy_stack
from infra.errors import InfraError
from infra.parts import LAKEHOUSE, OPTIONAL, PARTS, Part
from infra.stack import apply_stack
from infra.status import Status, part_status
from lakehouse.settings import Settings


def create_infra(
    settings: Settings,
    dry_run: bool,
    yes: bool,
    with_: str = "",
    given: list[str] | None = None,
) -> None:
    """Make or update the lakehouse and the named further parts; say how to use them.

    Raises:
        InfraError: a part or a parameter has no such name, or AWS refuses.
    """
    parts = [LAKEHOUSE, *_named(with_)]
    chosen = _parameters(parts, given or [])
    aws = connect(settings)
    lines = []
    for part in parts:
        with explained():
            outputs = apply_stack(
                aws,
                _dialogue(yes),
                part=part,
                dry_run=dry_run,
                given={name: value for name, value in chosen.items() if name in part.defaults},
            )
        if outputs is None and not dry_run:
            return  # the answer was no: nothing to build the next on
        if part is LAKEHOUSE:
            lines += ["lakehouse: glue", f'aws_account: "{aws.account}"']
            lines += [f"aws_region: {aws.region}"]
        lines += [f"{name}: {(outputs or {}).get(key)}" for name, key in part.settings.items()]
        for name, value in (outputs or {}).items():
            say(f"  {name}  {value}")
    if not dry_run:
        say("\n".join(["", "To use it, put this into settings.yaml:", "", *lines]))


def infra_status(settings: Settings) -> int:
    """Print how each part is; 0 if all is as here, 1 if something is not, 2 if AWS does not say."""
    try:
        aws = connect(settings)
        with explained():
            found = [part_status(aws, settings, part) for part in PARTS]
    except InfraError as error:
        say(f"{type(error).__name__}: {error}", is_error=True)
        return 2
    for status in found:
        _print(status)
    return int(any(status.problems for status in found))


def _print(status: Status) -> None:
    part = status.part
    optional = f"not there; {part.command} makes it"
    say(f"{part.name}  {status.state or optional}")
    for resource in status.resources:
        names = (resource["ResourceType"], resource["LogicalResourceId"])
        line = "  ".join((*names, resource.get("PhysicalResourceId", "")))
        say(f"  {resource['ResourceStatus']:<16} {line}")
    for name, value in status.outputs.items():
        say(f"  {name} = {value}")
    if status.state:
        say(f"  when nothing runs it costs {part.idle}")
    for problem in status.problems:
        say(f"  ! {problem}")


def destroy_infra(settings: Settings, dry_run: bool, yes: bool) -> None:
    """Delete the stacks with all data in them, after listing what that is."""
    aws = connect(settings)
    with explained():
        destroy_stack(aws, _dialogue(yes), dry_run=dry_run)


def _named(with_: str) -> list[Part]:
    names = [name.strip() for name in with_.split(",") if name.strip()]
    if unknown := [name for name in names if name not in OPTIONAL]:
        raise InfraError(
            f"--with got {', '.join(unknown)}; allowed: {', '.join(OPTIONAL)}, separated by commas."
        )
    return [part for name, part in OPTIONAL.items() if name in names]


def _parameters(parts: list[Part], given: list[str]) -> dict[str, str]:
    allowed = sorted({n for part in parts for n in part.defaults} - {"BucketName", "DatabaseName"})
    chosen = dict(pair.partition("=")[::2] for pair in given)
    if unknown := [pair for pair in given if "=" not in pair or pair.split("=")[0] not in allowed]:
        raise InfraError(
            f"--parameter got {', '.join(unknown)}; what is made takes NAME=VALUE with one of the "
            f"names {', '.join(allowed)}."
        )
    return chosen


def _dialogue(yes: bool) -> Dialogue:
    return Dialogue(say=say, confirm=lambda question: yes or _ask(question))


def _ask(question: str) -> bool:
    if not sys.stdin.isatty():
        raise InfraError(f"{question} There is no terminal to ask at: give --yes to go ahead.")
    return confirm(question)
