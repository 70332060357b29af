"""Build the lineage page if its sources changed since the last build."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from commands.environment import script
from lakehouse.errors import SetupError
from lakehouse.settings import REPOSITORY

WEB = REPOSITORY / "packages" / "headwater" / "web"
BUILT = WEB.parent / "src" / "headwater" / "server" / "built"
TYPES = WEB / "src" / "api" / "schema.ts"
_NOT_SOURCES = {"node_modules", "coverage"}
_TEXTS = {"description", "title", "example", "examples"}
_ASKED = ("graph", "node", "search", "newest", "datasets", "jobs", "groups", "runs",
          "runs/{run_id}", "runtree", "health", "findings", "problems", "completeness/pipelines",
          "history", "drift", "diff", "lateness", "column", "columns", "impact", "provenance",
          "provenance/statement", "freshness/datasets", "pipelines", "timeline", "tree", "version",
          "events", "tagged", "unused", "aliases", "aliases/suggested", "incident", "taints",
          "map")  # fmt: skip


def ensure_page() -> bool:
    """Build the page if its sources changed; return True if it was built.

    Raises:
        SetupError: the build failed.
    """
    BUILT.parent.mkdir(exist_ok=True)
    with (WEB / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another command may be building it
        if is_built():
            return False
        install()
        fresh = WEB / ".built"
        npm("run", "build", "--", "--outDir", str(fresh), "--emptyOutDir")
        npm("run", "build:file", "--", "--outDir", str(fresh / "file"), "--emptyOutDir")
        (fresh / ".digest").write_text(digest())
        # Rename before deleting, because a running server would serve a half-deleted page.
        former = WEB / ".former"
        shutil.rmtree(former, ignore_errors=True)
        if BUILT.exists():
            BUILT.rename(former)
        fresh.rename(BUILT)
        shutil.rmtree(former, ignore_errors=True)
        return True


def is_built() -> bool:
    """Return True if the built page matches its sources."""
    mark = BUILT / ".digest"
    return mark.exists() and mark.read_text() == digest()


def page_beside(log: Path) -> threading.Thread:
    """Build the page in the background; errors go to the log, and the server shows a notice.

    The lineage server serves the page as soon as it is built.
    """

    def build() -> None:
        try:
            ensure_page()
        except SetupError as error:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(f"{error}\n")

    thread = threading.Thread(target=build, daemon=True)
    thread.start()
    return thread


def digest() -> str:
    """Return the hash of the page's sources."""
    hash_ = sha256()
    for path in sorted(_sources(WEB)):
        hash_.update(f"{path.relative_to(WEB)}\0".encode() + path.read_bytes() + b"\0")
    return hash_.hexdigest()


def _sources(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name in _NOT_SOURCES:
            continue
        if path.is_dir():
            yield from _sources(path)
        else:
            yield path


def install() -> None:
    """Install the Node packages of the lock file."""
    mark = WEB / "node_modules" / ".lock-digest"
    lock_digest = sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if not mark.exists() or mark.read_text() != lock_digest:
        npm("ci", "--no-fund", "--no-audit", "--prefer-offline")
        mark.write_text(lock_digest)


def npm(*arguments: str) -> None:
    """Run the npm of this virtual environment in the page's folder.

    Raises:
        SetupError: there is no Node, or npm failed.
    """
    if not Path(script("npm")).exists():
        raise SetupError(
            "Building the lineage page requires Node. Install it with `uv sync --group node`; "
            "`./run` does so automatically."
        )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    with subprocess.Popen(
        [script("npm"), *arguments],
        cwd=WEB,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        end = partial(_end, process)
        atexit.register(end)  # a demo may end before the build
        try:
            output, _ = process.communicate()
        finally:
            end()
            atexit.unregister(end)
    if process.returncode:
        last = "\n".join(output.splitlines()[-20:])
        raise SetupError(f"`npm {' '.join(arguments)}` in {WEB} failed:\n{last}")


def _end(process: subprocess.Popen[str]) -> None:
    """End npm and its child processes if it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)


def write_types(path: Path = TYPES) -> None:
    """Write the TypeScript types of the API responses that the page uses."""
    from fastapi.routing import APIRoute

    from headwater.log import EventLog
    from headwater.projection.live import Live
    from headwater.server.app import make_app
    from headwater.server.openapi import document

    with closing(EventLog("sqlite://")) as log:
        app = make_app(Live(log))
    paths = {f"/api/v2/{name}" for name in _ASKED}
    routes = [
        route
        for route in app.routes
        if isinstance(route, APIRoute) and route.path.replace(":segment}", "}") in paths
    ]
    app.router.routes = [route for route in routes if "GET" in route.methods]
    schema = document(app)
    schema["components"]["schemas"].pop("Error")
    for item in schema["paths"].values():
        parameters = [value for value in item["get"]["parameters"] if value["in"] != "header"]
        content = item["get"]["responses"]["200"]["content"]
        item["get"] = {"parameters": parameters, "responses": {"200": {"content": content}}}
    (WEB / ".openapi.json").write_text(json.dumps(_without_texts(schema)))
    install()
    npm("run", "api", "--", str(path))


def _without_texts(value: Any) -> Any:
    """Return a schema without descriptions, titles and examples."""
    if isinstance(value, list):
        return [_without_texts(item) for item in value]
    if not isinstance(value, dict):
        return value
    texts = {key for key in _TEXTS & value.keys() if not isinstance(value[key], dict)}
    return {key: _without_texts(item) for key, item in value.items() if key not in texts}
