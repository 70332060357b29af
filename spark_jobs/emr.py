"""Parameters of EMR Serverless jobs: location of the code and settings of the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import SecretStr

from lakehouse.backends import is_on
from lakehouse.settings import Settings
from spark_jobs.runtime import EMR_JARS

RELEASE = "emr-spark-8.0.0"
"""Spark 4.0 on Java 17 with Python 3.11, EMR's newest release."""
PYTHON = "/usr/bin/python3.11"
CODE, ENTRY = "code.zip", "main.py"
STATE_DIR = "/tmp/lakehouse"

NOT_PASSED_ON = (
    *("spark", "emr_", "state_dir", "lineage_", "airflow_", "headwater_"),
    "aws_profile",  # a job uses its IAM role
)
"""Name prefixes of settings that are not passed to the driver."""


def code_url(settings: Settings) -> str:
    """Return the URL to which `./run emr-package` uploads the jobs' code and jars."""
    return f"s3://{settings.bucket}/{settings.emr_prefix.strip('/')}"


def jar_names() -> list[str]:
    """Return the jars that the jobs need and EMR does not include."""
    return [f"{name}-{version}.jar" for name, (_, version) in EMR_JARS.items()]


def job_driver(settings: Settings, arguments: Sequence[str]) -> dict[str, Any]:
    """Return StartJobRun's `jobDriver` for `spark_jobs/run.py` with these arguments."""
    return {
        "sparkSubmit": {
            "entryPoint": f"{code_url(settings)}/{ENTRY}",
            "entryPointArguments": list(arguments),
        }
    }


def configuration(settings: Settings) -> dict[str, Any]:
    """Return StartJobRun's `configurationOverrides`; the provider adds the lineage parent.

    It contains no secret: EMR only receives the id of the secret with the lineage server's key.
    """
    at = code_url(settings)
    properties = {
        "spark.jars": ",".join(f"{at}/{jar}" for jar in jar_names()),
        "spark.archives": f"{at}/{CODE}#code",  # unpacked to ./code, see emr_main.py
        "spark.executorEnv.PYSPARK_PYTHON": PYTHON,
    }
    environ = {"PYSPARK_PYTHON": PYTHON, "PYSPARK_DRIVER_PYTHON": PYTHON, **_environ(settings)}
    properties |= {f"spark.emr-serverless.driverEnv.{k}": v for k, v in environ.items()}
    return {
        "applicationConfiguration": [{"classification": "spark-defaults", "properties": properties}]
    }


def _environ(settings: Settings) -> dict[str, str]:
    """Return the settings as the driver's environment.

    The driver sends lineage to the server's URL or to its log, because no other machine can read
    its disk.
    """
    variables = {
        name: value
        for name, value in settings.environ().items()
        if not name.lower().startswith(NOT_PASSED_ON)
        and not isinstance(getattr(settings, name.lower()), SecretStr)
    }
    if not is_on(settings):
        return variables | {"LINEAGE_BACKEND": "none", "STATE_DIR": STATE_DIR}
    lineage = {"LINEAGE_BACKEND": settings.emr_lineage_url or "console"}
    if settings.emr_lineage_url and settings.emr_lineage_secret:
        lineage["LINEAGE_URL_API_KEY"] = f"EMR.secret@{settings.emr_lineage_secret}"
    return variables | lineage | {"LINEAGE_DELIVERY": "direct", "STATE_DIR": STATE_DIR}
