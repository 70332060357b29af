"""Compare the stacks with the templates and the settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.aws import Aws
from infra.parts import LAKEHOUSE, Part
from infra.stack import find_stack, outputs, parameters, stack_parameters
from lakehouse.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackResourceTypeDef, StackTypeDef

AT_REST = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")


@dataclass(frozen=True)
class Status:
    """The status of a part of the infrastructure."""

    part: Part
    state: str
    """The stack's status in CloudFormation; empty if there is no stack."""
    resources: tuple[StackResourceTypeDef, ...]
    outputs: dict[str, str]
    problems: tuple[str, ...]
    """Differences from the repository and the settings, each with a fix."""


def part_status(aws: Aws, settings: Settings, part: Part) -> Status:
    """Return the status of a part."""
    stack = find_stack(aws, part.stack)
    if stack is None:
        return Status(part, "", (), {}, tuple(_missing(settings, part)))
    resources = [
        resource
        for resource in aws.cloudformation.describe_stack_resources(StackName=part.stack)[
            "StackResources"
        ]
        if resource.get("PhysicalResourceId")  # the others were not created
    ]
    values = outputs(stack) or {}
    problems = (*_drift(aws, part, stack), *_broken(resources), *_unset(settings, part, values))
    return Status(part, stack["StackStatus"], tuple(resources), values, problems)


def _missing(settings: Settings, part: Part) -> Iterator[str]:
    if part is LAKEHOUSE:
        yield f"it does not exist; run {part.command}"
    for name in part.settings:
        if value := getattr(settings, name):
            yield f"the setting {name} is {value!r}, but the stack does not exist"


def _drift(aws: Aws, part: Part, stack: StackTypeDef) -> Iterator[str]:
    state = stack["StackStatus"]
    if state not in AT_REST:
        yield f"it is {state}: {stack.get('StackStatusReason', 'no reason given')}"
    applied = aws.cloudformation.get_template(StackName=part.stack)["TemplateBody"]
    if str(applied).strip() != part.template.read_text().strip():
        yield f"its template differs from {part.template.name}; run {part.command}"
    current = stack_parameters(stack)
    for name, value in parameters(aws, part, stack, {}).items():
        if (current_value := current.get(name, "")) != value:
            yield (
                f"its parameter {name} is {current_value!r}, expected {value!r}; run {part.command}"
            )


def _broken(resources: list[StackResourceTypeDef]) -> Iterator[str]:
    for resource in resources:
        if resource["ResourceStatus"].endswith("FAILED"):
            yield f"{resource['LogicalResourceId']} is {resource['ResourceStatus']}"


def _unset(settings: Settings, part: Part, values: dict[str, str]) -> Iterator[str]:
    for name, output in part.settings.items():
        value, set_to = values.get(output, ""), getattr(settings, name)
        if value != set_to:
            yield f"the setting {name} is {set_to or 'not set'}, expected {value}"
