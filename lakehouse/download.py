"""Download a source's files to the landing folder, each once.

Next to each landed file, ``<file>.json`` stores its ETag and size from the server and its
SHA-256. A file with the same ETag and size is not downloaded again. A downloaded file with the
same SHA-256 counts as unchanged.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import os
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from email.message import Message
from pathlib import Path
from urllib.parse import urlsplit

from lakehouse.errors import BadSourceFile, NotPublished
from lakehouse.sources import SourceFile

TIMEOUT_SECONDS = 60
CHUNK_BYTES = 1 << 20
ATTEMPTS = 3
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_TABLE = (b"", b"<", b"{", b"[")
"""Prefixes of a web page and of JSON."""
MISSING = (403, 404, 410)  # TLC's CDN returns 403 for a missing file


@dataclass(frozen=True)
class LandedFile:
    """A file in the landing folder and its source."""

    path: str
    url: str
    month: str
    etag: str
    size: int
    sha256: str


def fetch(file: SourceFile, landing: Path) -> LandedFile:
    """Download one file unless it has landed already; it appears complete or not at all.

    An interrupted transfer is resumed, in this or a later call, if the server sends an ETag.

    Raises:
        NotPublished: the source has no such file.
        BadSourceFile: the download failed, is incomplete, or is not the expected kind of file.
    """
    target = landing / file.filename
    landing.mkdir(parents=True, exist_ok=True)
    earlier = _remembered(target, file.url)
    part = target.with_name(target.name + ".part")
    try:
        etag = _persist(file.url, earlier, part)
    except urllib.error.HTTPError as error:
        if error.code == 304 and earlier:
            return earlier
        if error.code in MISSING:
            raise NotPublished(f"{file.url} is not published (HTTP {error.code}).") from None
        _forget(part)
        raise BadSourceFile(
            f"{file.url} returned HTTP {error.code}. Run the task again later."
        ) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, FileNotFoundError) or "No such file" in str(error.reason):
            raise NotPublished(f"{file.url} does not exist.") from None
        raise BadSourceFile(
            f"{file.url} cannot be reached: {error.reason}. Check the network and the setting "
            "DATA_SOURCE, then run the task again."
        ) from None
    if etag is None and earlier:
        return earlier
    _refuse_other_things(part, file)
    with part.open("rb") as landed_bytes:
        digest = hashlib.file_digest(landed_bytes, "sha256").hexdigest()
    landed = LandedFile(str(target), file.url, file.month, etag or "", part.stat().st_size, digest)
    part.replace(target)
    _forget(part)
    _write_json(target, landed)
    return landed


def _persist(url: str, landed: LandedFile | None, part: Path) -> str | None:
    """Call `_transfer`, and repeat it if the connection is lost."""
    for _ in range(ATTEMPTS):
        try:
            return _transfer(url, landed, part)
        except urllib.error.URLError:
            raise
        except (http.client.HTTPException, OSError) as error:
            broke = error
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                _forget(part)
                raise BadSourceFile(
                    f"Cannot write {part}: {error.strerror}. Free disk space, then run the task "
                    "again."
                ) from None
    raise BadSourceFile(
        f"The download of {url} was interrupted {ATTEMPTS} times, the last time by {broke}. Run "
        "the task again; it resumes if the server supports that."
    )


def _transfer(url: str, landed: LandedFile | None, part: Path) -> str | None:
    """Download the rest of the file to `part`; return its ETag, or None if it has not changed."""
    etag_of_part = part.with_name(part.name + ".etag")
    begun = etag_of_part.read_text() if part.exists() and etag_of_part.exists() else ""
    with _open(url, landed.etag if landed else "", begun, part) as response:
        etag, length = _etag(response.headers), _length(response.headers)
        if landed and etag and (etag, length) == (landed.etag, landed.size):
            return None
        goes_on = response.status == http.HTTPStatus.PARTIAL_CONTENT
        etag_of_part.write_text(response.headers.get("ETag") or "")
        with part.open("ab" if goes_on else "wb") as out:
            before = out.tell()
            while chunk := response.read(CHUNK_BYTES):
                out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
            arrived = out.tell() - before
    if length not in (-1, arrived):
        raise ConnectionError(f"{arrived:,} of {length:,} bytes")
    return etag


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    part.with_name(part.name + ".etag").unlink(missing_ok=True)


def _refuse_other_things(part: Path, file: SourceFile) -> None:
    """Reject a web page, a JSON error, a truncated file or a file that fails its source's check.

    A complete Parquet file begins and ends with PAR1.
    """
    try:
        _check_ends(part, file.url)
        if file.check:
            with part.open("rb") as content:
                file.check(file.url, content)
    except BadSourceFile:
        _forget(part)
        raise


def _check_ends(part: Path, url: str) -> None:
    with part.open("rb") as file:
        head = file.read(4)
        file.seek(-min(4, part.stat().st_size), os.SEEK_END)
        tail = file.read(4)
    is_parquet = (head, tail) == (b"PAR1", b"PAR1")
    if is_parquet if url.endswith(".parquet") else head and head.lstrip()[:1] not in NO_TABLE:
        return
    kind = "a complete Parquet file" if url.endswith(".parquet") else "a table"
    raise BadSourceFile(
        f"{url} is not {kind}: it begins with {head!r} and ends with {tail!r}. "
        "Open the URL to see what it returns, then run the task again."
    )


def _remembered(target: Path, url: str) -> LandedFile | None:
    """Return what was stored when the file landed from this URL, or None."""
    note = target.with_name(target.name + ".json")
    if not (target.exists() and note.exists()):
        return None
    landed = LandedFile(**json.loads(note.read_text()))
    return landed if landed.url == url else None


def _write_json(target: Path, landed: LandedFile) -> None:
    note = target.with_name(target.name + ".json")
    part = note.with_name(note.name + ".part")
    part.write_text(json.dumps(asdict(landed), indent=2))
    part.replace(note)


def _open(url: str, etag: str, begun: str, part: Path) -> urllib.response.addinfourl:
    headers = {"If-None-Match": etag} if etag and urlsplit(url).scheme != "file" else {}
    if begun:
        headers |= {"Range": f"bytes={part.stat().st_size}-", "If-Range": begun}
    request = urllib.request.Request(url, headers=headers)
    response: urllib.response.addinfourl = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    return response


def _etag(headers: Message) -> str:
    """Return the ETag; without one, as for file:// URLs, the time of the last change."""
    return headers.get("ETag") or headers.get("Last-Modified") or ""


def _length(headers: Message) -> int:
    return int(headers.get("Content-Length") or -1)
