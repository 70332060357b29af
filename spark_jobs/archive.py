"""Create a class-data sharing archive, with which a driver starts in half the time.

A driver spends its first seconds loading some 20,000 classes. The JVM can write the parsed
classes to a file (about 190 MB) when it exits and map them at the next start (JEP 310, 350).
Nothing else changes. The base archive is created too, because the embedded Java lacks it.
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

from lakehouse.settings import Settings
from spark_jobs.runtime import classpath, java_home

_OFF = "-Xshare:off"
"""Java's option to use no archive, in SPARK_JAVA_OPTIONS."""


def archive(settings: Settings) -> Path:
    """Return the archive's path for this Java and these jars; `base.jsa` is next to it."""
    home = java_home(settings)
    release = home / "release"
    # A container that shares the state folder may have another Java at the same path.
    java = f"{home}:{release.read_text() if release.exists() else ''}"
    key = hashlib.sha256(f"{java}:{classpath(settings)}".encode()).hexdigest()
    return settings.state_dir / f"classes-{key[:8]}" / "spark.jsa"


def archive_options(settings: Settings) -> str:
    """Return the JVM options that use the archives, if they exist and are not switched off."""
    top = archive(settings)
    if (
        _OFF in settings.spark_java_options or not top.exists() or " " in str(top)
    ):  # Spark splits its options at spaces
        return ""
    return f"-Xshare:auto -XX:SharedArchiveFile={top.with_name('base.jsa')}:{top}"


def ensure_archive(settings: Settings) -> None:
    """Create the archives unless they exist or are switched off, or Java cannot create them."""
    top = archive(settings)
    failed = top.with_name("failed")
    if _OFF in settings.spark_java_options or top.exists() or failed.exists():
        return
    top.parent.mkdir(parents=True, exist_ok=True)
    with (top.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another command may be creating them
        if not (top.exists() or failed.exists()):
            _make(settings, top, failed)


def _make(settings: Settings, top: Path, failed: Path) -> None:
    base = top.with_name("base.jsa")
    with tempfile.TemporaryDirectory(dir=top.parent) as work:
        part = Path(work, "spark.jsa")
        java = str(java_home(settings) / "bin" / "java")
        for command in (
            [java, "-Xshare:dump", f"-XX:SharedArchiveFile={base}"],
            [sys.executable, "-m", "spark_jobs.archive_training", work, str(base), str(part)],
        ):
            done = _run(command)
        if part.exists():
            part.replace(top)
        else:
            failed.write_bytes(done.stderr)  # prevents further attempts


def _run(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a command and kill it if this process is interrupted."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
