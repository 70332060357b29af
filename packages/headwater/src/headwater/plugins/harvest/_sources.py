"""The harvesters of this package: functions whose parameters are the options of their commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.errors import ConfigError, how_to_install
from headwater.plugins.harvest.harvester import Harvester

Paths = Annotated[list[Path], typer.Argument(help="Files or folders.")]
_Namespaces = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        metavar="PLATFORM=NAMESPACE",
        help="Namespace of a platform's or service's datasets.",
    ),
]


def spark_logs(paths: Paths) -> Harvester:
    """Import the events of Spark's console transport from log files, also with .gz.

    Example: headwater harvest spark-logs logs/ --yes
    """
    from headwater.plugins.harvest._logs import LogFiles

    return LogFiles("spark-logs", paths)


def airflow_logs(paths: Paths) -> Harvester:
    """Import the events of the console transport from logs of Airflow tasks.

    Example: headwater harvest airflow-logs logs/ --since 2026-11-01 --dry-run
    """
    from headwater.plugins.harvest._logs import LogFiles

    return LogFiles("airflow-logs", paths)


def dbt(
    project: Annotated[Path, typer.Argument(help="Folder of the project.")] = Path(),
    target_path: Annotated[
        Path | None, typer.Option(help="Folder of the artifacts. [the project's target/]")
    ] = None,
    profiles_dir: Annotated[Path | None, typer.Option(help="Folder of profiles.yml.")] = None,
    dbt_profile: Annotated[
        str | None, typer.Option("--profile", help="dbt's profile. [the project's]")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Its target. [that of the run]")] = None,
    namespace: Annotated[
        str, typer.Option(envvar="OPENLINEAGE_NAMESPACE", help="Namespace of the jobs.")
    ] = "dbt",
) -> Harvester:
    """Import the last run of a dbt project from its artifacts.

    Example: headwater harvest dbt rides/ --dry-run
    """
    from headwater.plugins.harvest._dbt import Dbt

    return Dbt(
        project=project.absolute(),
        target_path=target_path.absolute() if target_path else None,
        profiles=profiles_dir,
        profile=dbt_profile,
        target=target,
        namespace=namespace,
    )


def marquez(
    conninfo: Annotated[
        str,
        typer.Argument(
            metavar="POSTGRESQL_URL", help="Database of Marquez. Pass the password in PGPASSWORD."
        ),
    ],
) -> Harvester:
    """Import all events that Marquez received from its database.

    Example: headwater harvest marquez postgresql://marquez@localhost/marquez --dry-run
    """
    try:
        from headwater.plugins.harvest._marquez import Marquez
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"harvest marquez: the package {error.name} is missing. {how_to_install('postgresql')}"
        ) from None
    return Marquez(conninfo)


def datahub(
    files: Annotated[list[Path], typer.Argument(help="Files of DataHub's file sink.")],
    namespace: _Namespaces = None,
) -> Harvester:
    """Import datasets, jobs, runs and dashboards that DataHub exported.

    Example: headwater harvest datahub export.json --namespace postgres=postgres://db:5432 --dry-run
    """
    from headwater.plugins.harvest._catalog_names import namespaces_of
    from headwater.plugins.harvest._datahub import DataHub

    paths = [path.absolute() for path in files]
    return DataHub(paths=paths, namespaces=namespaces_of(namespace or ()))


def openmetadata(
    files: Annotated[list[Path], typer.Argument(help="CSV files of exported lineage.")],
    namespace: _Namespaces = None,
) -> Harvester:
    """Import lineage that OpenMetadata exported as CSV.

    Pass the namespace of each service, such as --namespace warehouse=snowflake://org-account.

    Example: headwater harvest openmetadata lineage.csv --dry-run
    """
    from headwater.plugins.harvest._catalog_names import namespaces_of
    from headwater.plugins.harvest._openmetadata import OpenMetadata

    paths = [path.absolute() for path in files]
    return OpenMetadata(paths=paths, namespaces=namespaces_of(namespace or ()))
