"""Objects that boto3 and s3fs read and write.

They are marked as objects (`is_object`): if a library above, such as PyIceberg, records the table
or the folder that they are part of, they are no datasets of their own.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from headwater_client.capture._hooks import Call, wrap
from headwater_client.capture._origins import bind
from headwater_client.capture._recorder import Capture, Captured

_READS = ("GetObject", "SelectObjectContent")
_WRITES = ("PutObject", "CopyObject", "CompleteMultipartUpload")


def patch(module: ModuleType) -> None:
    """Wrap the requests of botocore, or the opened files of s3fs."""
    if module.__name__ == "botocore.client":
        wrap(module.BaseClient, "_make_api_call", _before_request, _after_request)
    else:
        wrap(module.S3FileSystem, "_open", _before_open, _after_open)


def _before_request(capture: Capture, call: Call) -> None:
    return None


def _after_request(capture: Capture, call: Call, found: None, result: Any) -> None:
    """Record a request of boto3 to S3: an object that was read, written or copied.

    `call.args` are the client, the name of the operation and its parameters. The body of a response
    is bound to the object. The sources of a written object are known only for a copy.
    """
    client, operation, parameters = call.args[:3]
    if client.meta.service_model.service_name != "s3" or "Bucket" not in parameters:
        return
    written = _object(parameters["Bucket"], parameters.get("Key", ""))
    if operation in _READS:
        capture.add_reads([written])
        bind(result.get("Body"), [written.key])
    elif operation in _WRITES:
        sources: tuple[tuple[str, str], ...] | None = None
        if operation == "CopyObject":
            copied = _source(parameters["CopySource"])
            capture.add_reads([copied])
            sources = (copied.key,)
        item = Captured(*written.key, sources=sources, is_object=True)
        capture.add_writes([item])


def _source(source: Any) -> Captured:
    if isinstance(source, dict):
        return _object(source["Bucket"], source["Key"])
    bucket, _, key = str(source).lstrip("/").partition("/")
    return _object(bucket, key)


def _object(bucket: str, key: str) -> Captured:
    return Captured(f"s3://{bucket}", key.strip("/"), is_object=True)


def _before_open(capture: Capture, call: Call) -> None:
    return None


def _after_open(capture: Capture, call: Call, found: None, result: Any) -> None:
    """Record an object that s3fs opened, as read or as written."""
    path, mode = str(call.get(1, "path")), str(call.get(2, "mode") or "rb")
    bucket, _, key = path.removeprefix("s3://").lstrip("/").partition("/")
    item = _object(bucket, key)
    if "r" in mode:
        capture.add_reads([item])
        bind(result, [item.key])
    else:
        capture.add_writes([item])
