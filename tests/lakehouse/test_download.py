from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lakehouse.download import fetch
from lakehouse.errors import BadSourceFile, NotPublished, SettingsError
from lakehouse.generator import weather_csv
from lakehouse.ingest import land
from lakehouse.settings import load_settings
from lakehouse.sources import WEATHER, YELLOW, SourceFile, months_before, parse_months, taxi

pytestmark = pytest.mark.server


class Site(ThreadingHTTPServer):
    """A web server with files in a dictionary; it counts the bodies it sent."""

    files: dict[str, bytes]
    announce_more: int = 0
    breaks: int = 0
    """How many answers still end half way."""
    sent = 0
    ranges: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        body = self.server.files.get(self.path)
        etag = f'"{hash(body)}"'
        if body is None:
            self.send_error(404)
        elif self.headers.get("If-None-Match") == etag:
            self.send_response(304)
            self.end_headers()
        else:
            first = 0
            if (range_ := self.headers.get("Range")) and self.headers.get("If-Range") == etag:
                self.server.ranges.append(range_)
                first = int(range_.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206 if first else 200)
            self.send_header("ETag", etag)
            self.send_header("Content-Length", str(len(body) - first + self.server.announce_more))
            self.end_headers()
            if self.server.breaks:
                self.server.breaks -= 1
                self.wfile.write(body[first : (first + len(body)) // 2])
                return
            self.wfile.write(body[first:])
            self.server.sent += 1

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(("127.0.0.1", 0), Handler) as server:
        server.files = {"/a.parquet": b"PAR1 first PAR1"}
        server.ranges = []
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def file_of(site: Site, name: str = "a.parquet") -> SourceFile:
    return SourceFile(f"http://127.0.0.1:{site.server_port}/{name}", "2019-03")


def test_unchanged_file_is_not_downloaded_again(site: Site, tmp_path: Path) -> None:
    first = fetch(file_of(site), tmp_path)
    assert fetch(file_of(site), tmp_path) == first
    assert site.sent == 1
    assert Path(first.path).read_bytes() == b"PAR1 first PAR1"


def test_republished_file_replaces_the_landed_one(site: Site, tmp_path: Path) -> None:
    first = fetch(file_of(site), tmp_path)
    site.files["/a.parquet"] = b"PAR1 corrected PAR1"
    second = fetch(file_of(site), tmp_path)
    assert second.sha256 != first.sha256
    assert Path(second.path).read_bytes() == b"PAR1 corrected PAR1"


def test_missing_file_is_not_published(site: Site, tmp_path: Path) -> None:
    with pytest.raises(NotPublished, match=r"b\.parquet is not published \(HTTP 404\)"):
        fetch(file_of(site, "b.parquet"), tmp_path)
    with pytest.raises(NotPublished, match="does not exist"):
        fetch(SourceFile((tmp_path / "c.parquet").as_uri(), "2019-03"), tmp_path)


def test_interrupted_download_keeps_the_old_file(site: Site, tmp_path: Path) -> None:
    landed = fetch(file_of(site), tmp_path)
    site.files["/a.parquet"] = b"half of the new on"
    site.announce_more = 5
    with pytest.raises(
        BadSourceFile, match=r"interrupted 3 times, the last time by .* of .* bytes"
    ):
        fetch(file_of(site), tmp_path)
    assert Path(landed.path).read_bytes() == b"PAR1 first PAR1"
    site.announce_more = 0
    site.files["/a.parquet"] = b"PAR1 other PAR1"  # differs from the partial download
    assert Path(fetch(file_of(site), tmp_path).path).read_bytes() == b"PAR1 other PAR1"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.parquet", "a.parquet.json"]


@pytest.mark.parametrize("breaks", [1, 2, 4])
def test_interrupted_download_is_resumed(breaks: int, site: Site, tmp_path: Path) -> None:
    whole = site.files["/a.parquet"] = b"PAR1" + bytes(range(256)) * 64 + b"PAR1"
    site.breaks = breaks
    if breaks > 3:
        with pytest.raises(BadSourceFile, match="it resumes"):
            fetch(file_of(site), tmp_path)
    assert Path(fetch(file_of(site), tmp_path).path).read_bytes() == whole
    assert len(site.ranges) == breaks
    assert site.ranges[0] == f"bytes={len(whole) // 2}-"


def test_full_disk_is_reported(site: Site, tmp_path: Path) -> None:
    (tmp_path / "a.parquet.part").symlink_to("/dev/full")
    with pytest.raises(BadSourceFile, match=r"No space left on device\. Free disk space"):
        fetch(file_of(site), tmp_path)
    assert list(tmp_path.iterdir()) == []
    fetch(file_of(site), tmp_path)


def test_preliminary_weather_is_used_until_it_is_final(site: Site, tmp_path: Path) -> None:
    base = f"http://127.0.0.1:{site.server_port}"
    settings = load_settings(state_dir=tmp_path, data_source=base)
    at = "/weather/averages/2026"
    prcp, tavg, *_ = (weather_csv(file) for file in WEATHER.files(settings, "2026-10"))
    site.files |= {
        f"{at}/prcp-202610-cty-scaled.csv": prcp.encode(),
        f"{at}/tavg-202610-cty-prelim.csv": tavg.encode(),
    }
    (early,) = land(settings, WEATHER, ["2026-10"]).partitions
    assert [path.rsplit("/", 1)[1] for path in early.paths] == [
        "prcp-202610-cty-scaled.csv",
        "tavg-202610-cty-prelim.csv",
    ]
    site.files[f"{at}/tavg-202610-cty-scaled.csv"] = tavg.replace("1.", "2.").encode()
    (late,) = land(settings, WEATHER, ["2026-10"]).partitions
    assert late.paths[1].endswith("tavg-202610-cty-scaled.csv")
    assert late.name == early.name == "202610-cty.csv"
    assert late.source_hash != early.source_hash


def test_web_page_instead_of_a_file_is_rejected(site: Site, tmp_path: Path) -> None:
    site.files["/a.parquet"] = b"<html>Please log in</html>"
    with pytest.raises(BadSourceFile, match=r"not a complete Parquet file: it begins with b'<htm'"):
        fetch(file_of(site), tmp_path)
    for body in (b"<!doctype html>", b"", b' {"error": "try later"}'):
        site.files["/a.csv"] = body
        with pytest.raises(BadSourceFile, match="is not a table"):
            fetch(file_of(site, "a.csv"), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("body", "received"),
    [
        (b"<!doctype html>", "it begins with b'<!do'"),
        (b'{"error": 503}', "it begins with b'{\"er'"),
        (b"", "it begins with b''"),
        (b"cty,30061,NY: New York County,2023,01,PRCP,   0.1", "line 1: .* truncated"),
    ],
)
def test_invalid_weather_file_does_not_replace_the_landed_one(
    body: bytes, received: str, site: Site, tmp_path: Path
) -> None:
    settings = load_settings(state_dir=tmp_path, data_source=f"http://127.0.0.1:{site.server_port}")
    file = WEATHER.files(settings, "2023-01")[0]
    path = file.url.partition(str(site.server_port))[2]
    good = site.files[path] = weather_csv(file).encode()
    landed = fetch(file, tmp_path / "landing")
    site.files[path] = body
    with pytest.raises(BadSourceFile, match=received):
        fetch(file, tmp_path / "landing")
    assert Path(landed.path).read_bytes() == good
    assert len(list((tmp_path / "landing").iterdir())) == 2  # the file and its metadata


def test_mirror_file_is_copied_only_after_a_change(tmp_path: Path) -> None:
    origin = tmp_path / "mirror" / "a.csv"
    origin.parent.mkdir()
    origin.write_bytes(b"one")
    file = SourceFile(origin.as_uri(), "2023-01")
    first = fetch(file, tmp_path / "landing")
    assert fetch(file, tmp_path / "landing") == first
    origin.write_bytes(b"other")
    assert fetch(file, tmp_path / "landing").sha256 != first.sha256


def test_source_urls_match_the_sites() -> None:
    settings = load_settings(data_source="https://m")
    assert [f.url for f in YELLOW.files(settings, "2019-03")] == [
        "https://m/taxi/trip-data/yellow_tripdata_2019-03.parquet"
    ]
    urls = [f.url for f in WEATHER.files(settings, "2019-03")]
    assert urls[0] == "https://m/weather/averages/2019/prcp-201903-cty-scaled.csv"
    assert len(urls) == 4
    assert taxi("green").files(settings, "2019-03")[0].filename == (
        "green_tripdata_2019-03.parquet"
    )


def test_months_are_sorted_and_invalid_ones_reported() -> None:
    assert parse_months("2019-04, 2019-03,2019-03") == ["2019-03", "2019-04"]
    assert parse_months("") == []
    with pytest.raises(SettingsError, match=r"'2019-13' is not a month. Use YYYY-MM"):
        parse_months(["2019-13"])
    with pytest.raises(
        SettingsError, match=r"^2999-01 has not begun. The latest allowed month is 20"
    ):
        parse_months("2019-03,2999-01")
    assert months_before(date(2026, 2, 14), 4) == ["2025-11", "2025-12", "2026-01", "2026-02"]
