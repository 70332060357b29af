"""What an ingest run has to load: months to files to partitions of a table."""

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
    """The rows of a table that are replaced together: those of one source file.

    Weather's four files a month, one an element, make one partition, because a row holds all four.
    """

    name: str
    paths: tuple[str, ...]
    source_hash: str


@dataclass(frozen=True)
class Landing:
    """What a run found: the partitions to load, every file landed, and why months are left out."""

    partitions: tuple[Partition, ...]
    files: tuple[LandedFile, ...]
    skipped: tuple[str, ...]


def land(settings: Settings, source: Source, months: list[str]) -> Landing:
    """Land the files of the months and keep the partitions that the raw table does not hold yet."""
    raw = load_table(settings, Table(f"{source.table}_raw"))
    partitions: list[Partition] = []
    files: list[LandedFile] = []
    skipped: list[str] = []
    for month in months:
        landed = _land_month(settings, source, month, skipped)
        if not landed:
            continue
        partition = _partition(source, month, landed)
        if partition.source_hash in loaded_sources(raw, partition.name):
            skipped.append(f"{partition.name} is loaded already and has not changed.")
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
    """The file, or the preliminary one while it is not published."""
    try:
        return fetch(file, landing)
    except NotPublished as reason:
        if file.preliminary is None:
            raise
        with suppress(NotPublished):
            return fetch(file.preliminary, landing)
        raise reason from None


def _uploaded(settings: Settings, source: Source, file: LandedFile) -> LandedFile:
    """The file in the bucket, because EMR's jobs read nothing of this machine."""
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
