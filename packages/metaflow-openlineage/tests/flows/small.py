"""Three steps; an environment variable selects one that fails, and how."""

import os
import signal
import sys
import threading

from metaflow import FlowSpec, card, step

from metaflow_openlineage import openlineage


def trouble(flow, here):
    """Cause the failure that SMALL_TROUBLE=<step>:<failure> selects."""
    where, _, what = os.environ.get("SMALL_TROUBLE", "").partition(":")
    if where != here:
        return
    if what == "raise":
        raise ValueError("as asked")
    if what == "unpicklable":
        flow.lock = threading.Lock()
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "exit":
        raise SystemExit(3)
    if what == "terminate-launcher":
        os.kill(os.getppid(), signal.SIGTERM)
        signal.pause()
    if what == "kill-launcher":
        os.kill(os.getppid(), signal.SIGKILL)
    if what == "hang":
        signal.pause()
    if what == "ctrl-c":
        os.killpg(0, signal.SIGINT)
        signal.pause()


@openlineage(models=("fitted",), include=("count",), exclude=("scratch",))
class SmallFlow(FlowSpec):
    @step
    def start(self):
        self.data = [1, 2]
        self.scratch = [3]
        self.next(self.train)

    @step
    def train(self):
        self.fitted = {"sum": sum(self.data)}
        self.count = 2
        trouble(self, "train")
        self.next(self.end)

    @card(type="blank")
    @step
    def end(self):
        self.result = [self.fitted["sum"]]
        sys.stdout.write(f"TIMEOUT {os.environ.get('METAFLOW_OPENLINEAGE_TIMEOUT')}\n")
        trouble(self, "end")


if __name__ == "__main__":
    SmallFlow()
