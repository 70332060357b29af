"""A private Docker engine for tests, with stand-ins for images if no registry is reachable.

It does not affect other engines of the machine: it has its own data, socket and bridge, which are
deleted when it ends. It needs root and Debian's packages docker.io, docker-compose and
debootstrap, which `.ci/run` installs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from commands.processes import Service

BRIDGE = f"tests-{os.getpid()}"
NETWORKS = [f"172.30.{number}.1/24" for number in range(200, 250)]
PROGRAMS = ("dockerd", "docker-compose", "debootstrap", "iptables", "ip")
DEBIAN = "local/debian:bookworm"
# Like the official slim images: no manuals, and no waiting for the disk after each file.
DPKG = """force-unsafe-io
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/share/man/*
"""

PYTHON = """
FROM local/debian:bookworm
RUN apt-get update -qq && apt-get install -yqq --no-install-recommends python3-pip python3-venv \
    python-is-python3 && rm -rf /var/lib/apt/lists/* /usr/lib/python3*/EXTERNALLY-MANAGED
CMD ["python3"]
"""
POSTGRES = """
FROM local/debian:bookworm
RUN apt-get update -qq && apt-get install -yqq --no-install-recommends postgresql-15 gosu \
    && rm -rf /var/lib/apt/lists/*
COPY entry.sh /entry.sh
ENV PGDATA=/var/lib/postgresql/data PATH=/usr/lib/postgresql/15/bin:/usr/sbin:/usr/bin:/sbin:/bin
VOLUME /var/lib/postgresql/data
ENTRYPOINT ["bash", "/entry.sh"]
"""
# Like the official image: the first start creates user and database.
POSTGRES_ENTRY = """
set -e
mkdir -p "$PGDATA" /var/run/postgresql
chown -R postgres "$PGDATA" /var/run/postgresql
chmod 700 "$PGDATA"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  (umask 077; echo "$POSTGRES_PASSWORD" >/tmp/password; chown postgres /tmp/password)
  gosu postgres initdb --encoding=UTF8 --locale=C.UTF-8 -U "$POSTGRES_USER" \
    --pwfile=/tmp/password --auth-host=scram-sha-256 --auth-local=trust
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  gosu postgres pg_ctl -o "-c listen_addresses=''" -w start
  gosu postgres createdb -U "$POSTGRES_USER" "$POSTGRES_DB"
  gosu postgres pg_ctl -m fast -w stop
fi
exec gosu postgres postgres -c listen_addresses="*"
"""


@dataclass(frozen=True)
class Engine:
    """A running engine."""

    environ: dict[str, str]
    """Variables that make `docker` and `docker-compose` use the engine."""
    gateway: str
    """This machine's address as seen by the containers."""
    stand_ins: tuple[str, ...] = ()
    """Official images that were built from Debian packages instead of pulled."""

    def docker(self, *arguments: str, stdin: str | None = None) -> str:
        """Run a docker command that must succeed; return its output."""
        done = subprocess.run(
            ["docker", *arguments],
            env=os.environ | self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"docker {' '.join(arguments)}: {done.stderr}"
        return done.stdout


def why_not() -> str:
    """Return the reason why no engine can be started; empty if one can."""
    if os.geteuid():
        return "a private Docker engine needs root"
    missing = [name for name in PROGRAMS if not shutil.which(name, path=_path())]
    if missing:
        return f"not installed: {', '.join(missing)}; `.ci/run` installs Debian's packages"
    return ""


def _path() -> str:
    """Return a PATH with Debian's client first, which has BuildKit without a plugin."""
    return f"/usr/bin:/usr/sbin:{os.environ.get('PATH', '')}"


@contextmanager
def private_engine(folder: Path) -> Iterator[Engine]:
    """Run an engine with all its data in a folder, in which nothing is mounted at the end."""
    gateway = _add_bridge()
    socket = f"unix://{folder}/docker.sock"
    environ = {"PATH": _path(), "DOCKER_HOST": socket, "DOCKER_BUILDKIT": "1"}
    command = ["dockerd", "--host", socket, "--bridge", BRIDGE]
    for option, name in (("data-root", "data"), ("exec-root", "exec"), ("pidfile", "pid")):
        command += [f"--{option}", str(folder / name)]
    service = Service("dockerd", [command], os.environ | environ, folder / "dockerd.log")
    engine = Engine(environ, gateway)
    try:
        service.wait_until(lambda: _answers(environ), 120)
        yield engine
    finally:
        service.stop()
        for mounted in psutil.disk_partitions(all=True):
            if mounted.mountpoint.startswith(f"{folder}/"):
                subprocess.run(["umount", mounted.mountpoint], check=True)
        subprocess.run(["ip", "link", "delete", BRIDGE], check=True)


def _answers(environ: dict[str, str]) -> bool:
    command = ["docker", "version"]
    return not subprocess.run(command, env=os.environ | environ, capture_output=True).returncode


def _add_bridge() -> str:
    """Add the engine's bridge with an unused address; return the address."""
    for name in psutil.net_if_addrs():
        prefix, _, pid = name.partition("-")
        if prefix == "tests" and pid.isdecimal() and not psutil.pid_exists(int(pid)):
            subprocess.run(["ip", "link", "delete", name], check=True)  # left by a killed engine
    used = {
        address.address.rpartition(".")[0]
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
    }
    network = next(prefix for prefix in NETWORKS if prefix.rpartition(".")[0] not in used)
    subprocess.run(["ip", "link", "add", "name", BRIDGE, "type", "bridge"], check=True)
    subprocess.run(["ip", "address", "add", network, "dev", BRIDGE], check=True)
    subprocess.run(["ip", "link", "set", BRIDGE, "up"], check=True)
    return network.partition("/")[0]


def bring_images(engine: Engine, python: str, postgres: str, folder: Path) -> tuple[str, ...]:
    """Pull the official images; build and return those that cannot be pulled."""
    missing = [name for name in (python, postgres) if not _pulled(engine, name)]
    if missing:
        _import_debian(engine, folder)
        contexts = {python: {"Dockerfile": PYTHON}}
        contexts[postgres] = {"Dockerfile": POSTGRES, "entry.sh": POSTGRES_ENTRY}
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda name: _build(engine, name, contexts[name], folder), missing))
    return tuple(missing)


def _pulled(engine: Engine, name: str) -> bool:
    command = ["docker", "pull", "--quiet", name]
    return not subprocess.run(
        command, env=os.environ | engine.environ, capture_output=True
    ).returncode


def _import_debian(engine: Engine, folder: Path) -> None:
    """Import a minimal Debian, which is installed in memory, because dpkg waits for the disk."""
    root = folder / "debian"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "debian", str(root)], check=True)
    command = [
        "debootstrap",
        "--variant=minbase",
        "--include=ca-certificates",
        "bookworm",
        str(root),
    ]
    try:
        with (folder / "debootstrap.log").open("wb") as log:
            subprocess.run(command, stdout=log, stderr=log, check=True)
        (root / "etc/dpkg/dpkg.cfg.d/stand-in").write_text(DPKG)
        tar = ["tar", "-C", str(root), "-c", "."]
        with subprocess.Popen(tar, stdout=subprocess.PIPE) as packed:
            subprocess.run(
                ["docker", "import", "-", DEBIAN],
                env=os.environ | engine.environ,
                stdin=packed.stdout,
                stdout=subprocess.DEVNULL,
                check=True,
            )
        assert packed.returncode == 0
    finally:
        subprocess.run(["umount", str(root)], check=True)


def _build(engine: Engine, name: str, files: dict[str, str], folder: Path) -> None:
    context = folder / name.partition(":")[0]
    context.mkdir()
    for file, text in files.items():
        (context / file).write_text(text)
    engine.docker("build", "--quiet", "--tag", name, str(context))
