"""Selection of the messages of a batch to retry, for arbitrary batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater_aws._batch import failed_records, group_of
from headwater_aws.payloads import Record

_MESSAGES = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=10)


def _records(groups: list[str], *, is_fifo: bool = True) -> list[Record]:
    return [
        {
            "messageId": str(place),
            "receiptHandle": str(place),
            "body": "{}",
            "attributes": {"MessageGroupId": group} if is_fifo else {},
        }
        for place, group in enumerate(groups)
    ]


@given(_MESSAGES)
def test_failure_blocks_only_later_messages_of_its_group(
    messages: list[tuple[str, bool]],
) -> None:
    records = _records([group for group, _ in messages])
    good = {str(place): is_good for place, (_, is_good) in enumerate(messages)}
    tried: list[Record] = []

    def deliver(record: Record) -> bool:
        tried.append(record)
        return good[record["messageId"]]

    again = failed_records(records, deliver)
    for group in "abc":
        own = [record for record in records if group_of(record) == group]
        bad = [place for place, record in enumerate(own) if not good[record["messageId"]]]
        first = bad[0] if bad else len(own)
        assert [record for record in tried if group_of(record) == group] == own[: first + 1]
        assert [record for record in again if group_of(record) == group] == own[first:]


@given(_MESSAGES)
def test_standard_queue_retries_only_failed_messages(messages: list[tuple[str, bool]]) -> None:
    records = _records([group for group, _ in messages], is_fifo=False)
    again = failed_records(records, lambda record: messages[int(record["messageId"])][1])
    assert [int(record["messageId"]) for record in again] == [
        place for place, (_, is_good) in enumerate(messages) if not is_good
    ]
