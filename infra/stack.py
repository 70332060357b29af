"""Bring a stack to what its template says: propose a change set, show it, ask, follow it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from infra.aws import Aws, Dialogue
from infra.errors import StackFailed
from infra.names import bucket_name
from infra.parts import LAKEHOUSE, Part
from lakehouse.names import DATABASE

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.literals import ChangeSetTypeType
    from mypy_boto3_cloudformation.type_defs import (
        ChangeTypeDef,
        StackEventTypeDef,
        StackTypeDef,
    )

POLL_SECONDS = 2.0

UNCHANGED = ("didn't contain changes", "No updates are to be performed")
"""How CloudFormation words the failure of a change set that has nothing to do."""

REMEDY = {
    "ROLLBACK_COMPLETE": "What was made is removed again; `./run destroy-infra` clears the stack "
    "away, then create it anew.",
    "ROLLBACK_FAILED": "`./run destroy-infra` clears away what is left, then create it anew.",
    "CREATE_FAILED": "`./run destroy-infra` clears away what is left, then create it anew.",
    "DELETE_FAILED": "Remove what the reason names, then `./run destroy-infra` again.",
    "UPDATE_ROLLBACK_COMPLETE": "The stack is as it was before; mend the cause and run it again.",
    "UPDATE_ROLLBACK_FAILED": "Mend the cause, then `aws cloudformation continue-update-rollback "
    "--stack-name` and its name.",
}


def apply_stack(
    aws: Aws,
    dialogue: Dialogue,
    *,
    part: Part = LAKEHOUSE,
    dry_run: bool = False,
    given: Mapping[str, str] | None = None,
) -> dict[str, str] | None:
    """Create or update the stack; its outputs, or None if it is not there in the end.

    Running it again changes nothing. `given` are parameters of the template; the others stay as
    the stack has them.

    Raises:
        StackFailed: the stack cannot be changed now, or CloudFormation rolled the change back.
    """
    stack = find_stack(aws, part.stack)
    kind = _kind(part, stack)
    chosen = parameters(aws, part, stack, given or {})
    change_set = _propose(aws, part, kind, chosen)
    executed = False
    try:
        changes = _changes(aws, part, change_set) if change_set else []
        executed = _agreed(aws, dialogue, part, changes, dry_run=dry_run)
        if executed:
            _execute(aws, dialogue, part, change_set)
    finally:
        if change_set and not executed:
            _withdraw(aws, part, change_set, kind)
    return outputs(find_stack(aws, part.stack))


def _agreed(
    aws: Aws, dialogue: Dialogue, part: Part, changes: list[ChangeTypeDef], *, dry_run: bool
) -> bool:
    if not changes:
        dialogue.say(f"The stack {part.stack} is up to date: nothing to change.")
        return False
    dialogue.say(f"Changes to the stack {part.stack} in {aws.account}, {aws.region}:")
    for change in changes:
        dialogue.say(f"  {_describe(change)}")
    if dry_run:
        dialogue.say("Dry run: nothing was changed.")
        return False
    if not dialogue.confirm("Make these changes?"):
        dialogue.say("Nothing was changed.")
        return False
    return True


def find_stack(aws: Aws, name: str) -> StackTypeDef | None:
    """The stack of that name or id, or None."""
    from botocore.exceptions import ClientError

    try:
        return aws.cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in error.response["Error"].get("Message", ""):
            return None
        raise


def outputs(stack: StackTypeDef | None) -> dict[str, str] | None:
    """The stack's outputs, or None if there is no such stack."""
    if stack is None:
        return None
    return {o.get("OutputKey", ""): o.get("OutputValue", "") for o in stack.get("Outputs", [])}


def seen_events(aws: Aws, stack: str) -> set[str]:
    """Ids of what has happened to the stack so far."""
    return {event["EventId"] for event in _events(aws, stack)}


def follow(aws: Aws, dialogue: Dialogue, stack_id: str, seen: set[str]) -> None:
    """Say each further event of the stack until it comes to rest.

    Raises:
        StackFailed: it came to rest elsewhere than where it was to go.
    """
    failures: list[str] = []
    name = stack_id
    while True:
        stack = find_stack(aws, stack_id)
        name = stack["StackName"] if stack else name
        status = stack["StackStatus"] if stack else "DELETE_COMPLETE"
        for event in _events(aws, stack_id):
            if event["EventId"] in seen:
                continue
            seen.add(event["EventId"])
            dialogue.say(f"  {_line(event)}")
            if event.get("ResourceStatus", "").endswith("FAILED"):
                failures.append(_line(event))
        if not status.endswith("IN_PROGRESS"):
            break
        time.sleep(POLL_SECONDS)  # between two looks at the stack
    if status in REMEDY:
        said = stack.get("StackStatusReason", "") if stack else ""
        why = "; ".join(failures) or said or "no reason given"
        raise StackFailed(f"The stack {name} ended as {status}: {why}. {REMEDY[status]}")


def _kind(part: Part, stack: StackTypeDef | None) -> ChangeSetTypeType:
    status = stack["StackStatus"] if stack else "REVIEW_IN_PROGRESS"
    if status == "REVIEW_IN_PROGRESS":  # none yet, or only a proposal that was never executed
        return "CREATE"
    if status.endswith("IN_PROGRESS"):
        raise StackFailed(
            f"The stack {part.stack} is being changed right now ({status}). Run it again when "
            "that is done."
        )
    if status in REMEDY and status != "UPDATE_ROLLBACK_COMPLETE":
        raise StackFailed(
            f"The stack {part.stack} is {status} and cannot be changed. {REMEDY[status]}"
        )
    return "UPDATE"


def parameters(
    aws: Aws, part: Part, stack: StackTypeDef | None, given: Mapping[str, str]
) -> dict[str, str]:
    """The template's parameters: those of this lakehouse, the given, the stack's own, defaults."""
    ours = {"BucketName": bucket_name(aws.account, aws.region), "DatabaseName": DATABASE}
    chosen = part.defaults | held_parameters(stack) | dict(given) | ours
    return {name: chosen[name] for name in part.defaults}


def held_parameters(stack: StackTypeDef | None) -> dict[str, str]:
    """The parameters that a stack was made with."""
    held = stack.get("Parameters", []) if stack else []
    return {p.get("ParameterKey", ""): p.get("ParameterValue", "") for p in held}


def _propose(aws: Aws, part: Part, kind: ChangeSetTypeType, chosen: Mapping[str, str]) -> str:
    """Id of a change set; empty if there is nothing to change."""
    from botocore.exceptions import ClientError

    try:
        return aws.cloudformation.create_change_set(
            StackName=part.stack,
            ChangeSetName=f"create-infra-{uuid.uuid4().hex[:12]}",
            ChangeSetType=kind,
            TemplateBody=part.template.read_text(),
            Parameters=[
                {"ParameterKey": key, "ParameterValue": value} for key, value in chosen.items()
            ],
            Capabilities=["CAPABILITY_IAM"],
        )["Id"]
    except ClientError as error:  # stand-ins say so at once, AWS in the change set's status
        if any(text in str(error) for text in UNCHANGED):
            return ""
        raise


def _changes(aws: Aws, part: Part, change_set: str) -> list[ChangeTypeDef]:
    while True:
        found = aws.cloudformation.describe_change_set(
            ChangeSetName=change_set, StackName=part.stack
        )
        if found["Status"] == "CREATE_COMPLETE":
            return found.get("Changes", [])
        if found["Status"] == "FAILED":
            reason = found.get("StatusReason", "no reason given")
            if any(text in reason for text in UNCHANGED):
                return []
            raise StackFailed(f"CloudFormation refuses the change: {reason}")
        time.sleep(POLL_SECONDS)  # between two looks at the change set


def _execute(aws: Aws, dialogue: Dialogue, part: Part, change_set: str) -> None:
    stack = find_stack(aws, part.stack)
    stack_id = stack["StackId"] if stack else part.stack
    seen = seen_events(aws, stack_id)
    aws.cloudformation.execute_change_set(ChangeSetName=change_set, StackName=part.stack)
    follow(aws, dialogue, stack_id, seen)
    dialogue.say(f"The stack {part.stack} is in place.")


def _withdraw(aws: Aws, part: Part, change_set: str, kind: ChangeSetTypeType) -> None:
    """Remove the proposal, and the empty stack that proposing a new one makes."""
    aws.cloudformation.delete_change_set(ChangeSetName=change_set, StackName=part.stack)
    if kind == "CREATE":
        aws.cloudformation.delete_stack(StackName=part.stack)


def _events(aws: Aws, stack: str) -> list[StackEventTypeDef]:
    pages = aws.cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack)
    newest_first = [event for page in pages for event in page["StackEvents"]]
    return newest_first[::-1]


def _line(event: StackEventTypeDef) -> str:
    parts = [event.get("ResourceStatus", ""), event.get("ResourceType", "")]
    parts += [event.get("LogicalResourceId", ""), event.get("ResourceStatusReason", "")]
    return "  ".join(part for part in parts if part)


def _describe(change: ChangeTypeDef) -> str:
    resource = change["ResourceChange"]
    replaced = resource.get("Replacement", "False")
    note = {"True": "  (is REPLACED)", "Conditional": "  (may be REPLACED)"}.get(replaced, "")
    return (
        f"{resource['Action']:<8}{resource['ResourceType']}  {resource['LogicalResourceId']}{note}"
    )
