"""Types of the JSON that Lambda passes to the handlers and receives from them."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class HttpCall(TypedDict, total=False):
    """The part of a request's context that describes the HTTP call."""

    method: str
    path: str
    sourceIp: str


class RequestContext(TypedDict, total=False):
    """Properties of a request that API Gateway adds."""

    http: HttpCall
    requestId: str


class Request(TypedDict, total=False):
    """A request to API Gateway, in payload format 2.0."""

    version: Literal["2.0"]
    routeKey: str
    rawPath: str
    headers: dict[str, str]
    requestContext: RequestContext
    body: str
    isBase64Encoded: bool


class Authorization(TypedDict):
    """The simple response of a Lambda authorizer."""

    isAuthorized: bool


class Response(TypedDict):
    """A response to an HTTP request."""

    statusCode: int
    headers: NotRequired[dict[str, str]]
    body: NotRequired[str]


class Attributes(TypedDict, total=False):
    """The attributes that SQS gives a message; only those of FIFO queues have a group."""

    ApproximateReceiveCount: str
    MessageGroupId: str
    MessageDeduplicationId: str


class Record(TypedDict):
    """A message of a queue."""

    messageId: str
    receiptHandle: str
    body: str
    attributes: Attributes


class Batch(TypedDict):
    """Messages that are handled together."""

    Records: list[Record]


class Failure(TypedDict):
    """A message that must be received again."""

    itemIdentifier: str


class BatchResponse(TypedDict):
    """The failed messages of a batch; SQS deletes the others."""

    batchItemFailures: list[Failure]
