"""The harvesters: functions whose parameters are the options of their commands.

They are entry points of `headwater harvest`, so this module imports neither boto3 nor sqlglot.
"""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.plugins.harvest.harvester import Harvester

Region = Annotated[str | None, typer.Option(help="AWS region. [boto3's]")]
Streams = Annotated[str, typer.Option(help="Prefix of the log streams to read.")]
Profile = Annotated[str | None, typer.Option(help="AWS profile. [boto3's]")]


def glue_job_logs(
    log_group: Annotated[
        str, typer.Option(help="Log group; the default has stderr, to which Spark logs.")
    ] = "/aws-glue/jobs/error",
    streams: Streams = "",
    region: Region = None,
    profile: Profile = None,
) -> Harvester:
    """Import the events of Glue or EMR jobs from CloudWatch Logs.

    Example: headwater harvest glue-job-logs --log-group /aws-glue/jobs/logs-v2 --dry-run
    """
    from headwater_aws.harvest._aws import Account
    from headwater_aws.harvest.logs import CloudWatchLogs

    return CloudWatchLogs("glue-job-logs", log_group, streams, Account(region, profile))


def mwaa_logs(
    environment: Annotated[str, typer.Argument(help="Name of the environment.")],
    streams: Streams = "",
    region: Region = None,
    profile: Profile = None,
) -> Harvester:
    """Import the events of an MWAA environment from CloudWatch Logs.

    Example: headwater harvest mwaa-logs my-environment --dry-run
    """
    from headwater_aws.harvest._aws import Account
    from headwater_aws.harvest.logs import CloudWatchLogs

    group = f"airflow-{environment}-Task"
    return CloudWatchLogs("mwaa-logs", group, streams, Account(region, profile))


def glue_tables(
    databases: Annotated[
        list[str] | None, typer.Argument(help="Names of Glue databases. [all]")
    ] = None,
    region: Region = None,
    profile: Profile = None,
) -> Harvester:
    """Import the tables, columns and crawlers of the Glue catalog.

    Example: headwater harvest glue-tables nyc_taxi --dry-run
    """
    from headwater_aws.harvest._aws import Account
    from headwater_aws.harvest.glue import GlueTables

    return GlueTables(databases or [], Account(region, profile))


def redshift(
    of: Annotated[str, typer.Argument(metavar="DATABASE", help="The database in Redshift.")],
    workgroup: Annotated[str | None, typer.Option(help="Serverless workgroup.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Provisioned cluster.")] = None,
    db_user: Annotated[str | None, typer.Option(help="User of a cluster's database.")] = None,
    secret_arn: Annotated[str | None, typer.Option(help="Secret to log in with.")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="Namespace of the tables. [of the workgroup or cluster]")
    ] = None,
    region: Region = None,
    profile: Profile = None,
) -> Harvester:
    """Import column lineage from the query history of a Redshift database.

    Example: headwater harvest redshift dev --workgroup analytics --dry-run
    """
    from headwater_aws.harvest._aws import Account
    from headwater_aws.harvest.redshift import Redshift, Warehouse

    warehouse = Warehouse(of, workgroup, cluster, db_user, secret_arn)
    return Redshift(warehouse, Account(region, profile), namespace)
