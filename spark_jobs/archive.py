"""A class-data archive: the JVM's classes, parsed once, so that a driver starts in half the time.

A driver's first seconds go into loading some 20,000 classes. The JVM can dump them into a file
(about 190 MB) when it ends and map them the next time (JEP 310, 350); nothing else changes. The
base archive is made too, because the embedded Java comes without one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from lakehouse.names import Table
from lakehouse.settings import Settings, load_settings
from spark_jobs.runtime import classpath, java_home


def archive(settings: Settings) -> Path:
    """The archive for this Java and these jars; beside it stands `base.jsa`, which it names."""
    home = java_home(settings)
    release = home / "release"
    # A container that shares the state folder may have another Java at the same path.
    java = f"{home}:{release.read_text() if release.exists() else ''}"
    key = hashlib.sha256(f"{java}:{classpath(settings)}".encode()).hexdigest()
    return settings.state_dir / f"classes-{key[:8]}" / "spark.jsa"


def archive_options(settings: Settings) -> str:
    """JVM options that use the archives, if they are there."""
    top = archive(settings)
    if not top.exists() or " " in str(top):  # Spark splits its options at blanks
        return ""
    return f"-Xshare:auto -XX:SharedArchiveFile={top.with_name('base.jsa')}:{top}"


def ensure_archive(settings: Settings) -> None:
    """Make the archives unless they are there. A Java that cannot make them goes without."""
    top = archive(settings)
    failed = top.with_name("failed")
    if top.exists() or failed.exists():
        return
    top.parent.mkdir(parents=True, exist_ok=True)
    with (top.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another command may be making them
        if not (top.exists() or failed.exists()):
            _make(settings, top, failed)


def _make(settings: Settings, top: Path, failed: Path) -> None:
    base = top.with_name("base.jsa")
    with tempfile.TemporaryDirectory(dir=settings.state_dir) as work:
        part = Path(work, "spark.jsa")
        java = str(java_home(settings) / "bin" / "java")
        for command in (
            [java, "-Xshare:dump", f"-XX:SharedArchiveFile={base}"],
            [sys.executable, "-m", "spark_jobs.archive", work, str(base), str(part)],
        ):
            done = _run(command)
        if part.exists():
            part.replace(top)
        else:
            failed.write_bytes(done.stderr)  # so that it is not tried each time


def _run(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a command that ends together with this process, also when that is told to end."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _train(work: str, base: str, target: str) -> None:
    """Use once what the jobs use, in a lakehouse of its own, so that it is in the archive."""
    from pyspark.sql import functions as F

    from spark_jobs.session import open_session
    from spark_jobs.tables import TableSchema, contents, ensure_table, first_of_each

    settings = load_settings()
    scratch = settings.model_copy(
        update={"state_dir": Path(work), "lakehouse": "local", "lineage_backend": "file"}
    )
    conf = {
        # The class path must be that of the drivers: an archive is good for no other.
        "spark.driver.extraClassPath": classpath(settings),
        "spark.driver.extraJavaOptions": (
            f"-XX:SharedArchiveFile={base} -XX:ArchiveClassesAtExit={target}"
        ),
    }
    with open_session(scratch, "archive", conf) as spark:
        schema = TableSchema(Table("scratch"), {"id": "bigint", "part": "bigint"}, ("part",))
        ensure_table(spark, scratch, schema)
        rows = spark.range(100).selectExpr("id", "id % 2 AS part")
        rows.write.parquet(f"{work}/scratch.parquet")
        read = first_of_each(spark.read.parquet(f"{work}/scratch.parquet"), "id")
        contents(read, ["id"], by=F.col("part").cast("string"))
        read.writeTo(schema.table.spark).overwrite(F.lit(True))


if __name__ == "__main__":
    _train(*sys.argv[1:])
