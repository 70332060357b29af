"""`./run emr-package`: upload code and jars of the Spark jobs to the bucket, for EMR Serverless."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from commands.output import say
from commands.package import install, zip_tree
from infra.aws import connect, explained
from infra.names import bucket_name
from lakehouse.settings import REPOSITORY, Settings
from spark_jobs.emr import CODE, ENTRY, code_url, jar_names
from spark_jobs.runtime import EMR_JARS, download

_CODE = ("lakehouse", "spark_jobs")


def emr_package(settings: Settings) -> None:
    """Build the package and upload it.

    Raises:
        SetupError: packages or jars could not be downloaded.
        InfraError: AWS rejects a request.
    """
    aws = connect(settings)
    if not settings.bucket:
        bucket = bucket_name(aws.account, aws.region)
        settings = settings.model_copy(update={"bucket": bucket})
    with explained():
        aws.s3.head_bucket(Bucket=settings.bucket)  # fails early if there is no bucket
        for path in make_package(settings):
            key = f"{settings.emr_prefix.strip('/')}/{path.name}"
            aws.s3.upload_file(str(path), settings.bucket, key)
            say(f"{code_url(settings)}/{path.name}  {path.stat().st_size:,} bytes")


def make_package(settings: Settings) -> list[Path]:
    """Build the code with its dependencies, the entry point and the jars; return their paths."""
    folder = settings.state_dir / "emr"
    folder.mkdir(parents=True, exist_ok=True)
    jars = [folder / name for name in jar_names()]
    download(settings, EMR_JARS, folder)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        tree = Path(work, "tree")
        install(tree, ["--only-group", "emr"])
        for name in _CODE:
            shutil.copytree(REPOSITORY / name, tree / name)
        zip_tree(tree, Path(work, CODE))
        Path(work, CODE).replace(folder / CODE)
    shutil.copy(REPOSITORY / "spark_jobs" / "emr_main.py", folder / ENTRY)
    return [folder / CODE, folder / ENTRY, *jars]
