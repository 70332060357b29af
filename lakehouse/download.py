"""Bring a source's files to the landing folder, each once.

Beside a landed file stands ``<file>.json`` with what the server said of it (ETag, size) and its
SHA-256. A file whose ETag and size are as remembered is not fetched again; one that arrives
with the same SHA-256 counts as unchanged.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from email.message import Message
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from lakehouse.errors import BadSourceFile, NotPublished
from lakehouse.sources import SourceFile

TIMEOUT_SECONDS = 60
CHUNK_BYTES = 1 << 20
MISSING = (403, 404, 410)  # TLC's CDN answers 403 for a file that is not there


@dataclass(frozen=True)
class LandedFile:
    """A file in the landing folder and where it came from."""

    path: str
    url: str
    month: str
    etag: str
    size: int
    sha256: str


def fetch(file: SourceFile, landing: Path) -> LandedFile:
    """Land one file, or find it landed already; it appears whole or not at all.

    Raises:
        NotPublished: the source has no such file.
        BadSourceFile: fewer bytes arrived than were announced, or a page came in its place.
    """
    target = landing / file.filename
    known = _remembered(target, file.url)
    try:
        with _open(file.url, known.etag if known else "") as response:
            etag = _etag(response.headers)
            if known and etag and (etag, _length(response.headers)) == (known.etag, known.size):
                return known
            digest, size = _copy(response, target.with_name(target.name + ".part"), file.url)
    except urllib.error.HTTPError as error:
        if error.code == 304 and known:
            return known
        if error.code in MISSING:
            raise NotPublished(f"{file.url} is not published (HTTP {error.code}).") from None
        raise BadSourceFile(f"{file.url} answered HTTP {error.code}; try again later.") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, FileNotFoundError) or "No such file" in str(error.reason):
            raise NotPublished(f"{file.url} does not exist.") from None
        raise BadSourceFile(f"{file.url} cannot be reached: {error.reason}.") from None
    except (http.client.HTTPException, OSError) as error:
        raise BadSourceFile(f"{file.url} broke off: {error!r}; run the task again.") from None
    _refuse_other_things(target.with_name(target.name + ".part"), file.url)
    landed = LandedFile(str(target), file.url, file.month, etag, size, digest)
    target.with_name(target.name + ".part").replace(target)
    _write_json(target, landed)
    return landed


def _refuse_other_things(part: Path, url: str) -> None:
    """A parquet file begins and ends with PAR1; a web page or half a file does not."""
    if not url.endswith(".parquet"):
        return
    with part.open("rb") as file:
        head = file.read(4)
        file.seek(-min(4, part.stat().st_size), os.SEEK_END)
        tail = file.read(4)
    if (head, tail) != (b"PAR1", b"PAR1"):
        part.unlink()
        raise BadSourceFile(
            f"{url} is not a whole parquet file: it begins with {head!r} and ends with {tail!r}. "
            "Look at what the address answers, then run the task again."
        )


def _remembered(target: Path, url: str) -> LandedFile | None:
    """What was written beside the file when it landed from this URL; None without one."""
    note = target.with_name(target.name + ".json")
    if not (target.exists() and note.exists()):
        return None
    known = LandedFile(**json.loads(note.read_text()))
    return known if known.url == url else None


def _write_json(target: Path, landed: LandedFile) -> None:
    note = target.with_name(target.name + ".json")
    part = note.with_name(note.name + ".part")
    part.write_text(json.dumps(asdict(landed), indent=2))
    part.replace(note)


def _open(url: str, etag: str) -> urllib.response.addinfourl:
    headers = {"If-None-Match": etag} if etag and urlsplit(url).scheme != "file" else {}
    request = urllib.request.Request(url, headers=headers)
    response: urllib.response.addinfourl = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    return response


def _etag(headers: Message) -> str:
    """The ETag, or for file:// and servers without one the time of the last change."""
    return headers.get("ETag") or headers.get("Last-Modified") or ""


def _length(headers: Message) -> int:
    return int(headers.get("Content-Length") or -1)


def _copy(response: IO[bytes], part: Path, url: str) -> tuple[str, int]:
    """Write the body to `part`; its SHA-256 and size."""
    part.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with part.open("wb") as out:
        while chunk := response.read(CHUNK_BYTES):
            digest.update(chunk)
            out.write(chunk)
        size = out.tell()
        os.fsync(out.fileno())
    announced = _length(response.headers)  # type: ignore[attr-defined]  # addinfourl has them
    if announced not in (-1, size):
        part.unlink()
        raise BadSourceFile(
            f"{url} broke off after {size:,} of {announced:,} bytes; run the task again."
        )
    return digest.hexdigest(), size
