"""Download the files of months and find the partitions that an ingest run has to load."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from lakehouse.catalog import load_table, loaded_sources, properties
from lakehouse.download import CHUNK_BYTES, LandedFile, fetch
from lakehouse.errors import NotPublished
from lakehouse.names import Table
from lakehouse.settings import Settings
from lakehouse.sources import Source, SourceFile


@dataclass(frozen=True)
class Partition:
    """A partition of a table: the rows from one source file, which a load replaces together.

    Weather's four files per month form one partition, because each row combines four elements.
    """

    name: str
    paths: tuple[str, ...]
    source_hash: str


@dataclass(frozen=True)
class Landing:
    """The partitions to load, all landed files, and the reasons why months were skipped."""

    partitions: tuple[Partition, ...]
    files: tuple[LandedFile, ...]
    skipped: tuple[str, ...]


def land(
    settings: Settings, source: Source, months: list[str], *, is_repeated: bool = False
) -> Landing:
    """Download the months' files; return the partitions that are not in the raw table yet.

    With `is_repeated`, return all partitions.
    """
    raw = load_table(settings, Table(f"{source.table}_raw"))
    partitions: list[Partition] = []
    files: list[LandedFile] = []
    skipped: list[str] = []
    for month in months:
        landed = _land_month(settings, source, month, skipped)
        if not landed:
            continue
        partition = _partition(source, month, landed)
        is_loaded = partition.source_hash in loaded_sources(raw, partition.name)
        if is_loaded and not is_repeated:
            skipped.append(f"{partition.name} is already loaded and has not changed.")
            continue
        if settings.spark == "emr-serverless":
            landed = [_uploaded(settings, source, file) for file in landed]
            partition = _partition(source, month, landed)
        files += landed
        partitions.append(partition)
    return Landing(tuple(partitions), tuple(files), tuple(skipped))


def _land_month(
    settings: Settings, source: Source, month: str, skipped: list[str]
) -> list[LandedFile]:
    if settings.data_source == "generator":
        from lakehouse.generator import generate

        generate(settings, source, month)
    landed = []
    for file in source.files(settings, month):
        try:
            landed.append(_fetch(file, settings.landing_dir / source.name))
        except NotPublished as reason:
            skipped.append(str(reason))
    return landed


def _fetch(file: SourceFile, landing: Path) -> LandedFile:
    """Download the file, or the preliminary one while it is not published."""
    try:
        return fetch(file, landing)
    except NotPublished as reason:
        if file.preliminary is None:
            raise
        with suppress(NotPublished):
            return fetch(file.preliminary, landing)
        raise reason from None


def _uploaded(settings: Settings, source: Source, file: LandedFile) -> LandedFile:
    """Upload the file to the bucket, because EMR jobs cannot read this machine's files."""
    from pyiceberg.io import load_file_io

    url = f"s3://{settings.bucket}/landing/{source.name}/{Path(file.path).name}"
    io = load_file_io(properties(settings), url)
    with Path(file.path).open("rb") as landed, io.new_output(url).create(overwrite=True) as out:
        while chunk := landed.read(CHUNK_BYTES):
            out.write(chunk)
    return replace(file, path=url)


def _partition(source: Source, month: str, files: list[LandedFile]) -> Partition:
    digest = hashlib.sha256("".join(f.sha256 for f in files).encode()).hexdigest()
    return Partition(source.partition_of(month), tuple(f.path for f in files), digest)
