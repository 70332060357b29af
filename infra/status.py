"""How the stacks are: what there is, what of it is otherwise than here, what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.aws import Aws
from infra.parts import LAKEHOUSE, Part
from infra.stack import find_stack, held_parameters, outputs, parameters
from lakehouse.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackResourceTypeDef, StackTypeDef

AT_REST = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")


@dataclass(frozen=True)
class Status:
    """A part of the infrastructure as it is found."""

    part: Part
    state: str
    """CloudFormation's; empty if there is no such stack."""
    resources: tuple[StackResourceTypeDef, ...]
    outputs: dict[str, str]
    problems: tuple[str, ...]
    """What is otherwise than the repository and the settings say, each with what to do."""


def part_status(aws: Aws, settings: Settings, part: Part) -> Status:
    """What there is of a part."""
    stack = find_stack(aws, part.stack)
    if stack is None:
        return Status(part, "", (), {}, tuple(_missing(settings, part)))
    found = aws.cloudformation.describe_stack_resources(StackName=part.stack)["StackResources"]
    found = [each for each in found if each.get("PhysicalResourceId")]  # the others were not made
    given = outputs(stack) or {}
    problems = (*_drift(aws, part, stack), *_broken(found), *_unset(settings, part, given))
    return Status(part, stack["StackStatus"], tuple(found), given, problems)


def _missing(settings: Settings, part: Part) -> Iterator[str]:
    if part is LAKEHOUSE:
        yield f"it is not there: {part.command}"
    for name in part.settings:
        if value := getattr(settings, name):
            yield f"the setting {name} is {value!r}, and there is no such stack"


def _drift(aws: Aws, part: Part, stack: StackTypeDef) -> Iterator[str]:
    state = stack["StackStatus"]
    if state not in AT_REST:
        yield f"it is {state}: {stack.get('StackStatusReason', 'no reason given')}"
    applied = aws.cloudformation.get_template(StackName=part.stack)["TemplateBody"]
    if str(applied).strip() != part.template.read_text().strip():
        yield f"its template is not {part.template.name} as it is here: {part.command}"
    held = held_parameters(stack)
    for name, value in parameters(aws, part, stack, {}).items():
        if (there := held.get(name, "")) != value:
            yield f"its parameter {name} is {there!r} and not {value!r}: {part.command}"


def _broken(found: list[StackResourceTypeDef]) -> Iterator[str]:
    for each in found:
        if each["ResourceStatus"].endswith("FAILED"):
            yield f"{each['LogicalResourceId']} is {each['ResourceStatus']}"


def _unset(settings: Settings, part: Part, given: dict[str, str]) -> Iterator[str]:
    for name, output in part.settings.items():
        value, set_to = given.get(output, ""), getattr(settings, name)
        if value != set_to:
            yield f"the setting {name} is {set_to or 'not set'}; its own is {value}"
