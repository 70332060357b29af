"""What goes out: one forwarder for each backend, with its own cursor into the log."""

from throughline.deliver.answers import retry_answer, standings_answer
from throughline.deliver.backend import Backend, Delivery
from throughline.deliver.forwarder import Forwarder
from throughline.deliver.settings import read_backends

__all__ = ["Backend", "Delivery", "Forwarder", "read_backends", "retry_answer", "standings_answer"]
