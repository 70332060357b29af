"""destroy-infra against a stand-in that does not delete a bucket with contents."""

from __future__ import annotations

import pytest

from commands.infra import destroy_infra
from infra.aws import Aws, Dialogue
from infra.destroy import destroy_stack, take_inventory
from infra.names import STACK
from infra.stack import apply_stack, find_stack
from lakehouse.settings import Settings
from tests.infra import stand_in_resources

pytestmark = pytest.mark.server

SILENT = Dialogue(say=lambda _: None, confirm=lambda _: True)


@pytest.fixture
def full(aws: Aws, bucket: str) -> Aws:
    """Create a stack with 2 tables, 2 objects in 3 versions, and a deleted object."""
    for key, body in (("a", b"12345"), ("a", b"123"), ("b", b"1"), ("gone", b"12")):
        aws.s3.put_object(Bucket=bucket, Key=f"warehouse/{key}", Body=body)
    aws.s3.delete_object(Bucket=bucket, Key="warehouse/gone")
    for table in ("yellow_taxi_raw", "weather_raw"):
        aws.glue.create_table(DatabaseName="nyc_taxi", TableInput={"Name": table})
    return aws


def _destroy(aws: Aws, *, answer: bool = True, dry_run: bool = False) -> str:
    said: list[str] = []
    destroy_stack(aws, Dialogue(said.append, lambda _: answer), dry_run=dry_run)
    return "\n".join(said)


def _nothing_is_left(aws: Aws) -> bool:
    return (
        find_stack(aws, STACK) is None
        and aws.s3.list_buckets()["Buckets"] == []
        and aws.glue.get_databases()["DatabaseList"] == []
    )


def test_destroy_deletes_all_versions_tables_and_the_stack(full: Aws) -> None:
    said = _destroy(full)
    assert "5 object versions and delete markers deleted" in said
    assert "2 tables deleted" in said
    assert said.endswith(f"Deleted the stack {STACK}.")
    assert _nothing_is_left(full)


def test_destroy_empties_a_bucket_with_several_pages_of_versions(aws: Aws, bucket: str) -> None:
    s3 = stand_in_resources.s3_of(aws.account)  # avoids one request per version
    for _ in range(1_003):
        s3.put_object(bucket, "same", b"")
    assert "1,003 object versions" in _destroy(aws)
    assert _nothing_is_left(aws)


def test_destroy_first_lists_what_it_deletes(full: Aws) -> None:
    said = _destroy(full, dry_run=True)
    assert "2 objects, 4 versions and 1 delete markers, 11 bytes" in said
    assert "database nyc_taxi: 2 tables\n    weather_raw\n    yellow_taxi_raw" in said


@pytest.mark.parametrize(
    ("answer", "dry_run", "conclusion"),
    [(False, False, "Nothing was deleted."), (True, True, "Dry run: nothing was deleted.")],
    ids=["answer no", "dry run"],
)
def test_destroy_deletes_nothing_in_a_dry_run_or_when_declined(
    full: Aws, answer: bool, dry_run: bool, conclusion: str
) -> None:
    before = take_inventory(full)
    assert _destroy(full, answer=answer, dry_run=dry_run).endswith(conclusion)
    assert take_inventory(full) == before
    assert before.versions == 4


def test_destroy_without_a_stack_does_nothing(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    destroy_infra(settings, dry_run=False, yes=False)
    assert "There is no stack" in capsys.readouterr().out


def test_interrupted_destroy_can_be_continued(full: Aws, bucket: str) -> None:
    full.glue.delete_table(DatabaseName="nyc_taxi", Name="weather_raw")
    full.s3.delete_object(Bucket=bucket, Key="warehouse/b")
    _destroy(full)
    assert _nothing_is_left(full)
    assert "There is no stack" in _destroy(full)


def test_create_works_after_destroy(full: Aws) -> None:
    _destroy(full)
    assert apply_stack(full, SILENT) is not None
    assert take_inventory(full).versions == 0
