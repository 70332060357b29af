"""Delete the stacks with all their data, after listing it and asking for confirmation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.aws import Aws, Dialogue
from infra.errors import StackFailed
from infra.parts import EMR_SERVERLESS, LAKEHOUSE, PARTS
from infra.stack import POLL_SECONDS, event_ids, find_stack, follow, outputs

if TYPE_CHECKING:
    from mypy_boto3_emr_serverless.literals import JobRunStateType
    from mypy_boto3_s3.type_defs import ListObjectVersionsOutputTypeDef, ObjectIdentifierTypeDef

ACTIVE: tuple[JobRunStateType, ...] = ("SUBMITTED", "QUEUED", "PENDING", "SCHEDULED", "RUNNING")
"""States of EMR Serverless jobs that have not ended."""
BATCH_TABLES = 100
"""Maximum number of tables that Glue deletes per call."""


@dataclass(frozen=True)
class Inventory:
    """The contents of the stack's bucket and database."""

    bucket: str = ""
    objects: int = 0
    versions: int = 0
    delete_markers: int = 0
    size: int = 0
    """Size of all versions in bytes."""
    database: str = ""
    tables: tuple[str, ...] = ()


def destroy_stack(aws: Aws, dialogue: Dialogue, *, dry_run: bool = False) -> None:
    """Delete all stacks with their contents; missing stacks are ignored.

    Raises:
        StackFailed: something could not be deleted.
    """
    all_parts = [(part, find_stack(aws, part.stack)) for part in reversed(PARTS)]
    stacks = [(part, stack) for part, stack in all_parts if stack]
    if not stacks:
        dialogue.say(
            f"There is no stack {LAKEHOUSE.stack} in {aws.account}, {aws.region}; nothing to do."
        )
        return
    inventory = take_inventory(aws) if stacks[-1][0] is LAKEHOUSE else Inventory()
    for line in _losses(aws, inventory, [part.stack for part, _ in stacks]):
        dialogue.say(line)
    if dry_run:
        dialogue.say("Dry run: nothing was deleted.")
        return
    if not dialogue.confirm("Permanently delete all of it?"):
        dialogue.say("Nothing was deleted.")
        return
    if inventory.bucket:
        removed = empty_bucket(aws, inventory.bucket)
        dialogue.say(f"  {removed:,} object versions and delete markers deleted")
    if inventory.tables:
        _delete_tables(aws, inventory)
        dialogue.say(f"  {len(inventory.tables)} tables deleted")
    for part, stack in stacks:
        stack_id = stack["StackId"]
        if part is EMR_SERVERLESS:
            _stop_application(aws, (outputs(stack) or {}).get("ApplicationId", ""))
        known_ids = event_ids(aws, stack_id)
        aws.cloudformation.delete_stack(StackName=stack_id)
        follow(aws, dialogue, stack_id, known_ids)
        dialogue.say(f"Deleted the stack {part.stack}.")


def _stop_application(aws: Aws, application: str) -> None:
    """Cancel the application's jobs and stop it, because EMR does not delete a running one."""
    while application:
        state = aws.emr.get_application(applicationId=application)["application"]["state"]
        if state in ("CREATED", "STOPPED", "TERMINATED"):
            return
        jobs = aws.emr.list_job_runs(applicationId=application, states=[*ACTIVE])["jobRuns"]
        for job in jobs:
            aws.emr.cancel_job_run(applicationId=application, jobRunId=job["id"])
        if state == "STARTED" and not jobs:
            aws.emr.stop_application(applicationId=application)
        time.sleep(POLL_SECONDS)


def take_inventory(aws: Aws) -> Inventory:
    """Return the contents of the stack's bucket and database, if they exist."""
    resources = aws.cloudformation.describe_stack_resources(StackName=LAKEHOUSE.stack)[
        "StackResources"
    ]
    ids = {r["LogicalResourceId"]: r.get("PhysicalResourceId", "") for r in resources}
    bucket = _existing_bucket(aws, ids.get("Bucket", ""))
    database, tables = _existing_tables(aws, ids.get("Database", ""))
    objects = versions = markers = size = 0
    for page in _version_pages(aws, bucket):
        for version in page.get("Versions", []):
            versions += 1
            objects += version["IsLatest"]
            size += version["Size"]
        markers += len(page.get("DeleteMarkers", []))
    return Inventory(bucket, objects, versions, markers, size, database, tables)


def empty_bucket(aws: Aws, bucket: str) -> int:
    """Delete all versions and delete markers; return their number.

    Raises:
        StackFailed: S3 did not delete some of them.
    """
    removed = 0
    while True:  # always the first page, because its objects are deleted
        page = aws.s3.list_object_versions(Bucket=bucket)
        keys: list[ObjectIdentifierTypeDef] = [
            {"Key": entry["Key"], "VersionId": entry["VersionId"]}
            for entry in (*page.get("Versions", []), *page.get("DeleteMarkers", []))
        ]
        if not keys:
            return removed
        answer = aws.s3.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True})
        if errors := answer.get("Errors", []):
            first = errors[0]
            raise StackFailed(
                f"S3 did not delete {len(errors)} objects of {bucket}. The first is "
                f"{first.get('Key')}: {first.get('Message')}. Fix the cause, then run "
                "`./run destroy-infra` again."
            )
        removed += len(keys)


def _version_pages(aws: Aws, bucket: str) -> Iterator[ListObjectVersionsOutputTypeDef]:
    if bucket:
        yield from aws.s3.get_paginator("list_object_versions").paginate(Bucket=bucket)


def _existing_bucket(aws: Aws, name: str) -> str:
    from botocore.exceptions import ClientError

    if not name:
        return ""
    try:
        aws.s3.head_bucket(Bucket=name)
    except ClientError as error:
        if error.response["Error"].get("Code") in ("404", "NoSuchBucket"):
            return ""
        raise
    return name


def _existing_tables(aws: Aws, database: str) -> tuple[str, tuple[str, ...]]:
    if not database:
        return "", ()
    try:
        pages = aws.glue.get_paginator("get_tables").paginate(DatabaseName=database)
        names = [table["Name"] for page in pages for table in page["TableList"]]
    except aws.glue.exceptions.EntityNotFoundException:
        return "", ()
    return database, tuple(sorted(names))


def _delete_tables(aws: Aws, inventory: Inventory) -> None:
    for start in range(0, len(inventory.tables), BATCH_TABLES):
        names = inventory.tables[start : start + BATCH_TABLES]
        answer = aws.glue.batch_delete_table(
            DatabaseName=inventory.database, TablesToDelete=list(names)
        )
        for error in answer.get("Errors", []):
            detail = error.get("ErrorDetail", {}).get("ErrorMessage", "no reason given")
            raise StackFailed(
                f"Glue did not delete the table {error.get('TableName')}: {detail}. Fix the cause, "
                "then run `./run destroy-infra` again."
            )


def _losses(aws: Aws, inventory: Inventory, stacks: list[str]) -> Iterator[str]:
    yield f"This will be deleted in {aws.account}, {aws.region}, with {', '.join(stacks)}:"
    if inventory.bucket:
        yield (
            f"  bucket {inventory.bucket}: {inventory.objects:,} objects, "
            f"{inventory.versions:,} versions and {inventory.delete_markers:,} delete markers, "
            f"{inventory.size:,} bytes"
        )
    if inventory.database:
        yield f"  database {inventory.database}: {len(inventory.tables)} tables"
        for table in inventory.tables:
            yield f"    {table}"
    yield "  all other resources of these stacks: IAM roles, applications, logs, the domain"
