"""`./run create-infra`, `./run infra-status` and `./run destroy-infra`."""

from __future__ import annotations

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
    parameter_options: list[str] | None = None,
) -> None:
    """Create or update the lakehouse and the named optional parts; print the settings for them.

    Raises:
        InfraError: a part or a parameter is unknown, or AWS rejects a request.
    """
    parts = [LAKEHOUSE, *_named(with_)]
    chosen = _parameters(parts, parameter_options or [])
    aws = connect(settings)
    lines = []
    for part in parts:
        with explained():
            outputs = apply_stack(
                aws,
                _dialogue(yes),
                part=part,
                dry_run=dry_run,
                overrides={name: value for name, value in chosen.items() if name in part.defaults},
            )
        if outputs is None and not dry_run:
            return  # declined; the next part depends on this one
        if part is LAKEHOUSE:
            lines += ["lakehouse: glue", f'aws_account: "{aws.account}"']
            lines += [f"aws_region: {aws.region}"]
        lines += [f"{name}: {(outputs or {}).get(key)}" for name, key in part.settings.items()]
        for name, value in (outputs or {}).items():
            say(f"  {name}  {value}")
    if not dry_run:
        say("\n".join(["", "To use it, add this to settings.yaml:", "", *lines]))


def infra_status(settings: Settings) -> int:
    """Print the status of each part; return 0 without differences, 1 with some, 2 on an error."""
    try:
        aws = connect(settings)
        with explained():
            statuses = [part_status(aws, settings, part) for part in PARTS]
    except InfraError as error:
        say(f"Error: {error}", is_error=True)
        return 2
    for status in statuses:
        _print(status)
    return int(any(status.problems for status in statuses))


def _print(status: Status) -> None:
    part = status.part
    optional = f"not created; {part.command} creates it"
    say(f"{part.name}  {status.state or optional}")
    for resource in status.resources:
        names = (resource["ResourceType"], resource["LogicalResourceId"])
        line = "  ".join((*names, resource.get("PhysicalResourceId", "")))
        say(f"  {resource['ResourceStatus']:<16} {line}")
    for name, value in status.outputs.items():
        say(f"  {name} = {value}")
    if status.state:
        say(f"  costs when idle: {part.idle}")
    for problem in status.problems:
        say(f"  ! {problem}")


def destroy_infra(settings: Settings, dry_run: bool, yes: bool) -> None:
    """Delete the stacks with all their data, after listing it."""
    aws = connect(settings)
    with explained():
        destroy_stack(aws, _dialogue(yes), dry_run=dry_run)


def _named(with_: str) -> list[Part]:
    names = [name.strip() for name in with_.split(",") if name.strip()]
    if unknown := [name for name in names if name not in OPTIONAL]:
        raise InfraError(
            f"--with received {', '.join(unknown)}; allowed: {', '.join(OPTIONAL)},"
            " separated by commas."
        )
    return [part for name, part in OPTIONAL.items() if name in names]


def _parameters(parts: list[Part], options: list[str]) -> dict[str, str]:
    allowed = sorted({n for part in parts for n in part.defaults} - {"BucketName", "DatabaseName"})
    chosen = dict(pair.partition("=")[::2] for pair in options)
    if unknown := [
        pair for pair in options if "=" not in pair or pair.split("=")[0] not in allowed
    ]:
        raise InfraError(
            f"--parameter received {', '.join(unknown)}; expected NAME=VALUE with one of the names "
            f"{', '.join(allowed)}."
        )
    return chosen


def _dialogue(yes: bool) -> Dialogue:
    return Dialogue(say=say, confirm=lambda question: yes or confirm(question))
