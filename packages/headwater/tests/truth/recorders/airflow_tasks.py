"""Record Airflow's branches, skipped, mapped, grouped and retried tasks, setups and aliases."""

from __future__ import annotations

from .recording import copied, file_transport, keep, run

_CASE = "airflow-control-flow"
_DAGS = ("groups", "mapped", "cluster", "branch", "skips", "all_done", "alias", "retried")
_PACKAGES = [
    "apache-airflow==3.3.2",
    "apache-airflow-providers-amazon==9.39.0",  # for assets in S3
    "apache-airflow-providers-openlineage==2.20.3",
    "apache-airflow-providers-standard==1.21.0",
]


def main() -> None:
    """Record the events of all DAGs as one case."""
    with copied("airflow_tasks") as folder:
        events = folder / "events.jsonl"
        settings = {
            "AIRFLOW_HOME": str(folder / "home"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
            "AIRFLOW__OPENLINEAGE__DISABLED": "False",
            "AIRFLOW__OPENLINEAGE__NAMESPACE": _CASE,
            "AIRFLOW__OPENLINEAGE__TRANSPORT": file_transport(events),
        }
        run(_PACKAGES, ["airflow", "db", "migrate"], folder, settings)
        for dag in _DAGS:
            command = ["airflow", "dags", "test", dag]
            run(_PACKAGES, command, folder, settings, may_fail=True)
        keep(_CASE, events, folder)
