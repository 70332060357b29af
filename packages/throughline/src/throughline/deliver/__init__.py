"""Deliver events to backends: one forwarder for each, with its own cursor into the log."""

from throughline.deliver.answers import delivery_status_answer, retry_answer
from throughline.deliver.backend import Backend, Delivery
from throughline.deliver.forwarder import Forwarder
from throughline.deliver.settings import read_backends

__all__ = [
    "Backend",
    "Delivery",
    "Forwarder",
    "read_backends",
    "retry_answer",
    "delivery_status_answer",
]
