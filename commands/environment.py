"""Environment variables of Airflow, Spark drivers and Metaflow steps."""

from __future__ import annotations

import getpass
import json
import os
import secrets
import sys
from importlib.util import find_spec
from pathlib import Path

from dotenv import dotenv_values

from lakehouse.aws_profile import use_profile
from lakehouse.backends import is_embedded, lineage_environ
from lakehouse.descriptions import FORECASTING
from lakehouse.setting_sources import settings_file
from lakehouse.settings import REPOSITORY, Settings
from spark_jobs.runtime import java_home

RESOLVED = ("OPENLINEAGE_URL", "OPENLINEAGE_ENDPOINT", "OPENLINEAGE_API_KEY")
"""Variables not passed to child processes, because the settings already contain their values."""
AIRFLOW_USER = AIRFLOW_PASSWORD = "airflow"

AIRFLOW_ENV = REPOSITORY / "airflow" / "airflow.env"
"""Airflow's configuration that is the same on every machine."""


def script(name: str) -> str:
    """Return the path of a program in this virtual environment."""
    return str(Path(sys.executable).with_name(name))


def child_environ(settings: Settings) -> dict[str, str]:
    """Return this process's environment with everything that children of `./run` need."""
    environ = {
        **{name: value for name, value in os.environ.items() if name not in RESOLVED},
        **_settings_file(),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "JAVA_HOME": str(java_home(settings)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": spark_home(),
        "AWS_REGION": settings.aws_region,
        "AWS_DEFAULT_REGION": settings.aws_region,  # the only variable that boto3 reads
        "HEADWATER_URL": settings.headwater_url,
        **settings.environ(),
        **lineage_environ(settings),
        **_metaflow(settings),
        **_airflow(settings),
    }
    use_profile(settings, environ)
    return environ


def spark_home() -> str:
    """Return pyspark's folder, which spark-submit does not find if its path contains spaces."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return str(Path(spec.origin).parent)


def _settings_file() -> dict[str, str]:
    """Return the variable that names the settings file, for children in another folder."""
    return {"SETTINGS_FILE": str(settings_file())} if os.environ.get("SETTINGS_FILE") else {}


def _metaflow(settings: Settings) -> dict[str, str]:
    home = str(settings.state_dir / "metaflow")
    return {
        "METAFLOW_HOME": home,
        "METAFLOW_DATASTORE_SYSROOT_LOCAL": home,
        "METAFLOW_CARD_LOCALROOT": f"{home}/cards",
        "METAFLOW_DEFAULT_DATASTORE": "local",
        "METAFLOW_DEFAULT_METADATA": "local",
        "METAFLOW_OWNER": os.environ.get("METAFLOW_OWNER", FORECASTING),
        "METAFLOW_OPENLINEAGE_PROGRAM": "./run training-flow",
        "METAFLOW_USER": os.environ.get("METAFLOW_USER") or _user(),
    }


def _user() -> str:
    """Return the user's name; Metaflow rejects root."""
    user = getpass.getuser()
    return "pipeline" if user == "root" else user


def _airflow(settings: Settings) -> dict[str, str]:
    home = settings.state_dir / "airflow"
    url = f"http://localhost:{settings.airflow_port}"
    secret = _secret(home)
    return {
        **{name: value or "" for name, value in dotenv_values(AIRFLOW_ENV).items()},
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "airflow" / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(REPOSITORY / "airflow" / "plugins"),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{AIRFLOW_USER}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__API__PORT": str(settings.airflow_port),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__SECRET_KEY": secret,
        "AIRFLOW__API_AUTH__JWT_SECRET": secret,
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(
            {"conn_type": "spark", "host": settings.spark_master}
        ),
    }


def addresses(settings: Settings) -> dict[str, str]:
    """Return the addresses of the lineage page (or the lineage backend) and of Airflow."""
    lineage = settings.headwater_url if is_embedded(settings) else settings.lineage_backend
    airflow = f"http://localhost:{settings.airflow_port}  ({AIRFLOW_USER} / {AIRFLOW_PASSWORD})"
    return {"Lineage": lineage, "Airflow": airflow}


def write_airflow_password(settings: Settings) -> None:
    """Write the password file of Airflow's simple auth manager."""
    path = settings.state_dir / "airflow" / "passwords.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({AIRFLOW_USER: AIRFLOW_PASSWORD}))


def _secret(home: Path) -> str:
    """Return the secret key of this state folder; create it once, readable by its owner only."""
    path = home / "secret"
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(48))
    return path.read_text()
