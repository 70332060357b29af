"""Serve the page, which is built from packages/headwater/web."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from mimetypes import guess_type
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, HTMLResponse

import headwater
from headwater.errors import NotFoundError
from headwater.http.routes import tagged
from headwater.http.state import state_of

router = APIRouter()

_BUILT = Path(headwater.__file__).parent / "server" / "built"
_PROGRAM = b'name="program" content="headwater"'  # of web/index.html
_PRESENT = b'name="present" content=""'
_KEY = b'name="key" content=""'
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_ENCODINGS = {"br": ".br", "gzip": ".gz"}  # the smallest first
_PATHS = (
    *("/", "/lineage", "/run", "/impact", "/provenance", "/completeness", "/problems", "/search"),
    *("/datasets", "/jobs", "/runs", "/owners", "/tags", "/map", "/incident", "/version"),
)
_FOREVER = "public, max-age=31536000, immutable"
_NOT_BUILT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>headwater</title></head><body>
<h1>headwater</h1>
<p>The server runs, but its page is not built yet. <code>./run demo</code> and
<code>./run airflow</code> build it; reload this page in a minute.</p>
<p>Otherwise, run <code>./run page</code>. If headwater was installed from a clone with pip, run
<code>./run page</code> in the clone, then install it again. In a copy of the package alone:
<code>cd web; npm ci; npm run build -- --outDir ../src/headwater/server/built</code>. It needs
Node and, once, a network.</p>
<p>The API has the same content: <a href="/openapi.json">OpenAPI document</a>,
<a href="/api/v2/health">health</a>, <a href="/api/v2/runs">newest runs</a>.</p>
</body></html>
"""


def get_page(request: Request) -> Response:
    """Return the page, which renders the view of its address in the browser."""
    return _page(request, 200)


for _path in _PATHS:
    router.add_api_route(_path, get_page, methods=["GET", "HEAD"], include_in_schema=False)


def not_found(request: Request) -> Response | None:
    """Return the page for browsers at an unknown address; it shows an error.

    None leaves the error to the API.
    """
    is_browser = "text/html" in request.headers.get("accept", "")
    is_page = not request.url.path.startswith(("/api/", "/assets/"))
    return _page(request, 404) if is_browser and is_page else None


def _page(request: Request, status: int) -> Response:
    """Return the page with values of this server, or instructions to build the page.

    The page has the name of the program, the time that is shown as the present, and whether
    requests need a key.
    """
    path = _BUILT / "index.html"
    if not path.is_file():
        return HTMLResponse(_NOT_BUILT, status, headers={"Cache-Control": "no-store"})
    state = state_of(request)
    html = path.read_bytes()
    if script := _SCRIPT.search(html):  # the content security policy allows only this one
        digest = b64encode(sha256(script[1]).digest()).decode()
        request.scope["inline_scripts"].append(f"'sha256-{digest}'")
    program = f'name="program" content="{escape(state.program)}"'
    present = f'name="present" content="{state.present}"'
    html = html.replace(_PROGRAM, program.encode())
    html = html.replace(_PRESENT, present.encode())
    if "authorization" in request.headers:  # the browser was asked for a key
        html = html.replace(_KEY, b'name="key" content="needed"')
    return tagged(request, HTMLResponse(html, status), "no-cache")


@router.get("/assets/{name}", include_in_schema=False)
def get_asset(request: Request, name: str) -> Response:
    """Return an asset of the page, in its smallest encoding that the client accepts.

    Its name contains a hash of its content. The build compresses the assets.
    """
    folder = _BUILT / "assets"
    assets = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
    if name not in assets:  # a lookup, not a path: no name can leave the folder
        raise NotFoundError(f"the page has no asset {name!r}; reload it")
    headers = {"Cache-Control": _FOREVER}
    path = assets[name]
    for encoding, suffix in _ENCODINGS.items():
        if name + suffix in assets and _accepts(request, encoding):
            path = assets[name + suffix]
            headers |= {"Content-Encoding": encoding, "Vary": "Accept-Encoding"}
            break
    return FileResponse(path, headers=headers, media_type=guess_type(name)[0])


def _accepts(request: Request, encoding: str) -> bool:
    """Return True if Accept-Encoding names an encoding and does not exclude it (`q=0`)."""
    for item in ",".join(request.headers.getlist("accept-encoding")).lower().split(","):
        name, _, weight = item.replace(" ", "").partition(";q=")
        if name == encoding:
            return not weight or weight.strip("0.") != ""
    return False
