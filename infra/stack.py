"""Create or update a stack: propose a change set, show it, ask for confirmation, execute it."""

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
"""CloudFormation's messages for a change set without changes."""

REMEDY = {
    "ROLLBACK_COMPLETE": "The new resources were removed. Delete the stack with "
    "`./run destroy-infra`, then create it again.",
    "ROLLBACK_FAILED": "Delete the rest with `./run destroy-infra`, then create it again.",
    "CREATE_FAILED": "Delete the rest with `./run destroy-infra`, then create it again.",
    "DELETE_FAILED": "Remove the resource in the reason, then run `./run destroy-infra` again.",
    "UPDATE_ROLLBACK_COMPLETE": "The stack is unchanged. Fix the cause, then run it again.",
    "UPDATE_ROLLBACK_FAILED": "Fix the cause, then run `aws cloudformation "
    "continue-update-rollback --stack-name` with its name.",
}


def apply_stack(
    aws: Aws,
    dialogue: Dialogue,
    *,
    part: Part = LAKEHOUSE,
    dry_run: bool = False,
    overrides: Mapping[str, str] | None = None,
) -> dict[str, str] | None:
    """Create or update the stack; return its outputs, or None if it does not exist in the end.

    It is idempotent. `overrides` are template parameters; the others keep the stack's values.

    Raises:
        StackFailed: the stack cannot be changed now, or CloudFormation rolled the change back.
    """
    stack = find_stack(aws, part.stack)
    kind = _kind(part, stack)
    chosen = parameters(aws, part, stack, overrides or {})
    change_set = _propose(aws, part, kind, chosen)
    executed = False
    try:
        changes = _changes(aws, part, change_set) if change_set else []
        executed = _confirm_changes(aws, dialogue, part, changes, dry_run=dry_run)
        if executed:
            _execute(aws, dialogue, part, change_set)
    finally:
        if change_set and not executed:
            _discard(aws, part, change_set, kind)
    return outputs(find_stack(aws, part.stack))


def _confirm_changes(
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
    """Return the stack with a name or id, or None."""
    from botocore.exceptions import ClientError

    try:
        return aws.cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in error.response["Error"].get("Message", ""):
            return None
        raise


def outputs(stack: StackTypeDef | None) -> dict[str, str] | None:
    """Return the stack's outputs, or None if there is no stack."""
    if stack is None:
        return None
    return {o.get("OutputKey", ""): o.get("OutputValue", "") for o in stack.get("Outputs", [])}


def event_ids(aws: Aws, stack: str) -> set[str]:
    """Return the ids of the stack's events so far."""
    return {event["EventId"] for event in _events(aws, stack)}


def follow(aws: Aws, dialogue: Dialogue, stack_id: str, known_ids: set[str]) -> None:
    """Print new events of the stack until the operation ends.

    Raises:
        StackFailed: the operation failed.
    """
    failures: list[str] = []
    name = stack_id
    while True:
        stack = find_stack(aws, stack_id)
        name = stack["StackName"] if stack else name
        status = stack["StackStatus"] if stack else "DELETE_COMPLETE"
        for event in _events(aws, stack_id):
            if event["EventId"] in known_ids:
                continue
            known_ids.add(event["EventId"])
            dialogue.say(f"  {_line(event)}")
            if event.get("ResourceStatus", "").endswith("FAILED"):
                failures.append(_line(event))
        if not status.endswith("IN_PROGRESS"):
            break
        time.sleep(POLL_SECONDS)
    if status in REMEDY:
        status_reason = stack.get("StackStatusReason", "") if stack else ""
        why = "; ".join(failures) or status_reason or "no reason given"
        raise StackFailed(f"The stack {name} ended as {status}: {why}. {REMEDY[status]}")


def _kind(part: Part, stack: StackTypeDef | None) -> ChangeSetTypeType:
    status = stack["StackStatus"] if stack else "REVIEW_IN_PROGRESS"
    if status == "REVIEW_IN_PROGRESS":  # no stack, or one whose change set was never executed
        return "CREATE"
    if status.endswith("IN_PROGRESS"):
        raise StackFailed(
            f"Another change of the stack {part.stack} is in progress ({status}). Run it again "
            "when that has ended."
        )
    if status in REMEDY and status != "UPDATE_ROLLBACK_COMPLETE":
        raise StackFailed(
            f"The stack {part.stack} is {status} and cannot be changed. {REMEDY[status]}"
        )
    return "UPDATE"


def parameters(
    aws: Aws, part: Part, stack: StackTypeDef | None, overrides: Mapping[str, str]
) -> dict[str, str]:
    """Return the template's parameters: the lakehouse's, `overrides`, the stack's, defaults."""
    ours = {"BucketName": bucket_name(aws.account, aws.region), "DatabaseName": DATABASE}
    chosen = part.defaults | stack_parameters(stack) | dict(overrides) | ours
    return {name: chosen[name] for name in part.defaults}


def stack_parameters(stack: StackTypeDef | None) -> dict[str, str]:
    """Return the current parameters of a stack."""
    entries = stack.get("Parameters", []) if stack else []
    return {p.get("ParameterKey", ""): p.get("ParameterValue", "") for p in entries}


def _propose(aws: Aws, part: Part, kind: ChangeSetTypeType, chosen: Mapping[str, str]) -> str:
    """Create a change set and return its id; empty without changes."""
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
    except ClientError as error:  # moto reports this here, AWS in the change set's status
        if any(text in str(error) for text in UNCHANGED):
            return ""
        raise


def _changes(aws: Aws, part: Part, change_set: str) -> list[ChangeTypeDef]:
    while True:
        change_set_ = aws.cloudformation.describe_change_set(
            ChangeSetName=change_set, StackName=part.stack
        )
        if change_set_["Status"] == "CREATE_COMPLETE":
            return change_set_.get("Changes", [])
        if change_set_["Status"] == "FAILED":
            reason = change_set_.get("StatusReason", "no reason given")
            if any(text in reason for text in UNCHANGED):
                return []
            raise StackFailed(
                f"CloudFormation rejected the change: {reason}. Fix the cause, then run it again."
            )
        time.sleep(POLL_SECONDS)


def _execute(aws: Aws, dialogue: Dialogue, part: Part, change_set: str) -> None:
    stack = find_stack(aws, part.stack)
    stack_id = stack["StackId"] if stack else part.stack
    known_ids = event_ids(aws, stack_id)
    aws.cloudformation.execute_change_set(ChangeSetName=change_set, StackName=part.stack)
    follow(aws, dialogue, stack_id, known_ids)
    dialogue.say(f"The stack {part.stack} is ready.")


def _discard(aws: Aws, part: Part, change_set: str, kind: ChangeSetTypeType) -> None:
    """Delete the change set, and the empty stack that proposing a new stack creates."""
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
