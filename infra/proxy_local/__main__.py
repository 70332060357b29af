"""Run a part of the proxy as a process, with the environment variables of the Lambdas.

`gateway PORT` and `datazone PORT FILE` print their URL once they listen, `worker` handles batches
until it is stopped, `queues NAME fifo|standard SECONDS` creates queues and prints their URLs.
"""

from __future__ import annotations

import os
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import orjson

from headwater.errors import HeadwaterError
from headwater_aws import worker
from infra.proxy_local.datazone import DataZoneServer
from infra.proxy_local.gateway import PATH, gateway
from infra.proxy_local.mapping import create_queues, poll


def main(part: str, *arguments: str) -> None:
    """Run a part until the process is stopped."""
    if part == "gateway":
        server = gateway(int(arguments[0]))
        _serve(server, f"http://127.0.0.1:{server.server_port}{PATH}")
    elif part == "datazone":
        stand_in = _recording_server(int(arguments[0]), Path(arguments[1]))
        _serve(stand_in, stand_in.url)
    elif part == "worker":
        poll(boto3.client("sqs"), os.environ["QUEUE_URL"], worker.handler, threading.Event())
    elif part == "queues":
        name, kind, visibility = arguments
        urls = create_queues(
            boto3.client("sqs"), name, is_fifo=kind == "fifo", visibility=int(visibility)
        )
        sys.stdout.write("\n".join(urls) + "\n")
    else:
        sys.exit(f"received {part!r}, expected gateway, datazone, queues or worker")


def _serve(server: ThreadingHTTPServer, url: str) -> None:
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    server.serve_forever()


def _recording_server(port: int, path: Path) -> DataZoneServer:
    """Return a stand-in for DataZone that appends accepted events to a JSON Lines file."""

    def answer(event: dict[str, Any]) -> int:
        with path.open("ab") as file:
            file.write(orjson.dumps(event) + b"\n")
        return 200

    return DataZoneServer(port, answer)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except HeadwaterError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    except OSError as error:  # such as a port that is in use
        sys.exit(f"{' '.join(sys.argv[1:])}: {error.strerror or error}")
    except KeyboardInterrupt:
        sys.exit(130)
