"""A stand-in for EMR Serverless that runs the jobs of StartJobRun with this machine's Spark.

A job gets its files from the bucket, only its own environment variables, and a Python without
this project's packages. Unlike on AWS, Spark is 4.1 with the matching Iceberg, and Hadoop's file
system reads `s3://`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyspark
from moto.emrserverless.models import EMRServerlessBackend, JobRun

from infra.aws import Aws
from lakehouse.settings import Settings
from spark_jobs.emr import PYTHON
from spark_jobs.runtime import download, jars, java_home
from tests.conftest import SERIAL_GC

DRIVER_ENV = "spark.emr-serverless.driverEnv."
S3_JARS = {
    "hadoop-aws": ("org.apache.hadoop", "3.4.2"),  # the version of pyspark's Hadoop
    # The version of the SDK in iceberg-aws-bundle.
    "s3-transfer-manager": ("software.amazon.awssdk", "2.54.17"),
    "apache-client": ("software.amazon.awssdk", "2.54.17"),
}
OWN_JARS = {"iceberg-spark-runtime-4.0_2.13": "iceberg-spark-runtime-4.1_2.13"}

_start = EMRServerlessBackend.start_job_run


class LocalEmr:
    """Runs jobs in threads; `logs` is the folder of their output."""

    def __init__(self, settings: Settings, aws: Aws, folder: Path) -> None:
        self.logs = folder / "logs"
        self.logs.mkdir(parents=True)
        self.jobs: list[JobRun] = []
        self._aws, self._folder = aws, folder
        self._endpoint = settings.aws_endpoint_url
        self._java = java_home(settings)
        self._jars, self._s3 = jars(settings), folder / "s3"
        download(settings, S3_JARS, self._s3)

    @property
    def start(self) -> Callable[..., JobRun]:
        """Return the replacement of the backend's method."""

        def start_job_run(backend: EMRServerlessBackend, **parameters: Any) -> JobRun:
            job = _start(backend, **parameters)
            backend.applications[job.application_id].state = "STARTED"  # starts automatically
            job.state = "SUBMITTED"
            self.jobs.append(job)
            threading.Thread(target=self._run, args=(job,)).start()
            return job

        return start_job_run

    def _run(self, job: JobRun) -> None:
        try:
            work = self._folder / job.id
            work.mkdir()
            job.state = "SCHEDULED"
            command, environ = self._prepared(job, work)
            job.state = "RUNNING"
            # Opened for appending, because Spark's listener opens /dev/stdout again. Otherwise the
            # driver's output would overwrite the listener's events.
            with (self.logs / f"stdout-{job.id}.log").open("ab") as out:
                err = (self.logs / f"stderr-{job.id}.log").open("wb")
                with err:
                    code = subprocess.run(
                        command, cwd=work, env=environ, stdout=out, stderr=err
                    ).returncode
            job.state_details = f"Job ended with exit code {code}"
            job.state = "FAILED" if code else "SUCCESS"
        except Exception as error:  # like on AWS, the job fails, not the service
            job.state_details, job.state = f"{error!r}"[:256], "FAILED"

    def _prepared(self, job: JobRun, work: Path) -> tuple[list[str], dict[str, str]]:
        submit: Any = (job.job_driver or {})["sparkSubmit"]
        overrides: Any = job.configuration_overrides or {}
        (defaults,) = overrides["applicationConfiguration"]
        assert defaults["classification"] == "spark-defaults"
        conf: dict[str, str] = dict(defaults["properties"])
        archive, _, name = conf.pop("spark.archives").partition("#")
        (work / name).symlink_to(self._unpacked(self._fetched(archive)))
        jars_ = [self._fetched(jar).name for jar in conf.pop("spark.jars").split(",")]
        conf = {
            key: value for key, value in conf.items() if not key.startswith("spark.executorEnv")
        }
        environ = {k.removeprefix(DRIVER_ENV): conf.pop(k) for k in [*conf] if DRIVER_ENV in k}
        assert environ.pop("PYSPARK_PYTHON") == environ.pop("PYSPARK_DRIVER_PYTHON") == PYTHON
        conf |= self._machine(jars_)
        return [
            f"{Path(pyspark.__file__).parent}/bin/spark-submit",
            *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
            *shlex.split(submit.get("sparkSubmitParameters", "")),
            str(self._fetched(submit["entryPoint"])),
            *submit.get("entryPointArguments", []),
        ], environ | {
            **{name: os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")},
            "AWS_EC2_METADATA_DISABLED": "true",
            "JAVA_HOME": str(self._java),
            "PATH": os.defpath,
            "PYSPARK_PYTHON": str(Path(sys.executable).resolve()),  # not the virtual environment's
            "STATE_DIR": str(work / "state"),
        }

    def _fetched(self, url: str) -> Path:
        """Download an object of the bucket if it changed; return its path."""
        parts = urlsplit(url)
        key = parts.path.lstrip("/")
        etag = self._aws.s3.head_object(Bucket=parts.netloc, Key=key)["ETag"].strip('"')
        target = self._folder / "fetched" / etag / Path(key).name
        if not target.exists():
            target.parent.mkdir(parents=True)
            self._aws.s3.download_file(parts.netloc, key, str(target))
        return target

    def _unpacked(self, archive: Path) -> Path:
        folder = archive.with_suffix("")
        if not folder.exists():
            with zipfile.ZipFile(archive) as code:
                code.extractall(folder)
        return folder

    def _machine(self, jars_: list[str]) -> dict[str, str]:
        """Return Spark properties for S3 and the jars of this machine's Spark."""
        paths = [*self._s3.glob("*.jar")]
        for name in jars_:
            product = name.rpartition("-")[0]
            paths += self._jars.glob(f"{OWN_JARS.get(product, product)}-*.jar")
        s3 = {
            "fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
            "fs.s3a.endpoint": self._endpoint,
            "fs.s3a.endpoint.region": self._aws.region,
            "fs.s3a.path.style.access": "true",
        }
        return {f"spark.hadoop.{key}": value for key, value in s3.items()} | {
            "spark.jars": ",".join(map(str, paths)),
            "spark.master": "local[2]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 {SERIAL_GC}",
            "spark.ui.enabled": "false",
            "spark.log.level": "WARN",
        }
