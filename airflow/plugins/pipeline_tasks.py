"""Build the tasks of the DAGs.

All tasks take the names of their inputs and outputs from `lakehouse.names`, so that Airflow's
events match those of Spark and PyIceberg.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, timedelta
from pathlib import Path
from typing import Any, get_args

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.openlineage.extractors import OperatorLineage
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import Asset, BaseOperator, Context, CronTriggerTimetable, Param, chain
from airflow.sdk.definitions.asset import BaseAsset
from airflow.sdk.exceptions import AirflowSkipException
from gate_tasks import POLL_SECONDS, TIMEOUT_SECONDS, ProvenanceSensor
from lineage_operator import LineageOperator, TableOperator, dataset_of_file
from openlineage.client.event_v2 import Dataset
from openlineage.client.facet_v2 import lineage

from lakehouse.backends import is_embedded
from lakehouse.descriptions import FLOW_TAGS
from lakehouse.errors import SettingsError
from lakehouse.ingest import Landing, land
from lakehouse.names import Table
from lakehouse.settings import REPOSITORY, ForecastModel, load_settings
from lakehouse.sources import WEATHER, Source, months_before, parse_months
from spark_jobs import emr
from spark_jobs.session import submit_conf

EMR_POLL_SECONDS = 10
SKIP_EXIT_CODE = 99
EMR_HOURS = 12
"""Hours after which EMR Serverless ends a job."""


def asset(table: Table) -> Asset:
    """Return the table as an Airflow asset, which schedules the DAGs that read it."""
    return Asset(name=table.identifier, uri=table.asset_uri)


def every(cron: str) -> CronTriggerTimetable:
    """Return a cron schedule; unpausing a DAG starts no run for the previous interval."""
    return CronTriggerTimetable(cron, timezone="UTC", run_immediately=timedelta(0))


def ingest_params() -> dict[str, Param]:
    """Return the form of an ingest run; a scheduled run has its defaults."""
    return {
        "months": Param(
            [],
            type=["array", "null"],
            items={"type": "string", "pattern": r"^\d{4}-(0[1-9]|1[0-2])$"},
            title="Months",
            description="Months to load (YYYY-MM), one per line. By default, all new or changed "
            "months among the most recent ones.",
        ),
        "reload": Param(
            False,
            type="boolean",
            title="Load again",
            description="Also load unchanged files. Use this to load all months of a recalled "
            "version of the table again.",
        ),
    }


def training_params() -> dict[str, Param]:
    """Return the form of a training run; an empty field means the flow's default."""
    whole: Any = {"type": ["integer", "null"], "minimum": 1}
    return {
        "model": Param(
            load_settings().forecast_model, type="string", enum=[*get_args(ForecastModel)]
        ),
        "as_of_datetime": Param(
            None,
            type=["string", "null"],
            description="Start of the forecast in New York time (2019-05-01T00:00:00). Default: "
            "the end of the newest loaded month.",
        ),
        "lookback_days": Param(None, **whole, description="Days of history to train on."),
        "predict_horizon_hours": Param(None, **whole, description="Hours to forecast."),
        "locations": Param(
            None,
            type=["string", "null"],
            description="Pickup zones, such as 132,237. Default: the busiest.",
        ),
    }


def training_schedule(taxi: Source) -> BaseAsset:
    """Return the assets that trigger training: the taxi data, and weather if the model needs it."""
    rides, weather = (asset(Table(f"{source.table}_raw")) for source in (taxi, WEATHER))
    return rides & weather if load_settings().forecast_model == "weather" else rides


def refuse_unknown_params(context: Context) -> None:
    """Reject unknown parameters of a run, which Airflow would ignore.

    Raises:
        SettingsError: the run has a parameter that the DAG does not declare.
    """
    allowed = context["dag"].params
    if unknown := set(context["dag_run"].conf or {}) - set(allowed):
        raise SettingsError(
            f"Unknown parameters of the run: {', '.join(sorted(unknown))}. Use only "
            f"{', '.join(allowed)}."
        )


class DownloadOperator(LineageOperator):
    """Download the files of the selected months and return the partitions to load.

    The task is skipped, with the reasons, if no published file is new or changed, unless `reload`
    is set. Months come from the DAG's Param, not from the data interval, because a manual run has
    none.
    """

    def __init__(self, *, source: Source, **kwargs: Any):
        super().__init__(**kwargs)
        self.source = source
        self.landing: Landing | None = None

    def execute(self, context: Context) -> list[dict[str, Any]]:
        settings = load_settings()
        months = parse_months(context["params"].get("months") or [])
        months = months or months_before(date.today(), settings.months_back)
        is_repeated = bool(context["params"].get("reload"))
        self.landing = land(settings, self.source, months, is_repeated=is_repeated)
        for reason in self.landing.skipped:
            self.log.info(reason)
        context["ti"].xcom_push(key="skipped", value=list(self.landing.skipped))
        if not self.landing.partitions:
            raise AirflowSkipException(f"Nothing to load. {' '.join(self.landing.skipped)}")
        return [asdict(partition) for partition in self.landing.partitions]

    def datasets(self) -> tuple[list[Dataset], list[Dataset]]:
        """Return the files' URLs as inputs and their paths in the landing folder as outputs."""
        files = self.landing.files if self.landing else ()
        inputs = [dataset_of_file(file.url) for file in files]
        return inputs, [dataset_of_file(file.path) for file in files]

    def get_openlineage_facets_on_complete(
        self, task_instance: Any
    ) -> OperatorLineage[Dataset, Any]:
        """Add the source of each file, so that it does not depend on the run's other files."""
        facets = super().get_openlineage_facets_on_complete(task_instance)
        files = zip(facets.inputs, facets.outputs, strict=True)
        facets.job_facets["lineage"] = lineage.LineageJobFacet([_copied(*file) for file in files])
        return facets


class SparkJobOperator(TableOperator, SparkSubmitOperator):
    """A spark-submit of one of the repository's jobs."""


def spark_task(
    task_id: str,
    *,
    job: tuple[str, str],
    reads: Sequence[Table] = (),
    writes: Sequence[Table] = (),
    args: Sequence[str] = ("{{ ti.xcom_pull(task_ids='download') | tojson }}",),
    **kwargs: Any,
) -> BaseOperator:
    """Return a task that runs a Spark job.

    `job` is the source and the job of `spark_jobs/run.py`. The setting SPARK selects where it runs:
    at SPARK_MASTER (this machine or a standalone cluster) or on EMR Serverless. The provider passes
    the lineage parent to the driver.
    """
    settings = load_settings()
    common: dict[str, Any] = {
        "task_id": task_id,
        "name": ".".join(job),
        "reads": reads,
        "writes": writes,
        **kwargs,
    }
    if settings.spark == "emr-serverless":
        from emr_tasks import EmrJobOperator

        return EmrJobOperator(
            application_id=settings.emr_application_id,
            execution_role_arn=settings.emr_role_arn,
            job_driver=emr.job_driver(settings, [*job, *args]),
            configuration_overrides=emr.configuration(settings),
            aws_conn_id=None,  # AWS's default credential order
            region_name=settings.aws_region,
            waiter_delay=EMR_POLL_SECONDS,
            waiter_max_attempts=EMR_HOURS * 3600 // EMR_POLL_SECONDS,
            **common,
        )
    return SparkJobOperator(
        application=str(REPOSITORY / "spark_jobs" / "run.py"),
        application_args=[*job, *args],
        conf=submit_conf(settings),
        **common,
    )


def ingest_chain(source: Source) -> None:
    """Create and chain the tasks of an ingest DAG, which are the same for every source."""
    staging, raw = Table(f"{source.table}_staging"), Table(f"{source.table}_raw")
    quarantine = [Table(f"{source.table}_quarantine")] if source.has_quarantine else []
    chain(
        DownloadOperator(
            task_id="download",
            source=source,
            pre_execute=refuse_unknown_params,
            doc="Download the months' new or changed files.",
        ),
        spark_task(
            "stage",
            job=(source.name, "stage"),
            writes=[staging, *quarantine],
            doc="Convert the files to the typed schema of staging; rows with impossible values go "
            "to quarantine.",
        ),
        spark_task(
            "check_staging",
            job=(source.name, "check_staging"),
            reads=[staging],
            doc="Check the staged rows; a critical result stops the run.",
        ),
        spark_task(
            f"merge_upsert_staging_into_raw_{source.name}",
            job=(source.name, "merge"),
            reads=[staging],
            writes=[raw],
            outlets=[asset(raw)],
            doc="Replace the rows of each file in raw by those in staging, unless they are equal.",
        ),
    )


class ShellOperator(LineageOperator, BashOperator):
    """A shell command whose events have the source code of its DAG."""


def export_task(task_id: str, **kwargs: Any) -> BaseOperator:
    """Return a task that exports the lineage server's tables to `lineage` in the state folder.

    It reads lineage and no rows, so it has no datasets. Another backend has no tables to export:
    the task is skipped.
    """
    settings = load_settings()
    command = [str(Path(sys.executable).with_name("headwater")), "export", "--format", "parquet"]
    command += ["--output", str(settings.state_dir / "lineage")]
    skip = f"exit {SKIP_EXIT_CODE}  # the backend is not the embedded one"
    return ShellOperator(
        task_id=task_id,
        bash_command=f"exec {shlex.join(command)}" if is_embedded(settings) else skip,
        env={"HEADWATER_URL": settings.headwater_server_url or settings.headwater_url},
        append_env=True,
        skip_on_exit_code=SKIP_EXIT_CODE,
        **kwargs,
    )


class FlowOperator(ShellOperator):
    """A shell command that runs a flow and reports its lineage."""


def flow_task(
    task_id: str, *, flow: Path, params: Sequence[str], args: str = "", **kwargs: Any
) -> BaseOperator:
    """Return a task that runs a Metaflow flow as a child of the task in lineage.

    `params` are the DAG's parameters that the flow has too. Their values reach the command line
    through the environment, so that the shell does not interpret them. Empty ones are omitted.
    """
    options = " ".join(f'${{{p}:+--{p} "${p}"}}' for p in params)
    # The provider defines no macros if lineage is disabled.
    macros = "macros.OpenLineageProviderPlugin"
    guard = f"if {macros} is defined else ''"
    return FlowOperator(
        task_id=task_id,
        bash_command=f"exec {shlex.join([sys.executable, str(flow)])} run {args} {options}",
        env={
            "OPENLINEAGE_PARENT_ID": f"{{{{ {macros}.lineage_parent_id(task_instance) {guard} }}}}",
            "OPENLINEAGE_ROOT_PARENT_ID": (
                f"{{{{ {macros}.lineage_root_parent_id(task_instance) {guard} }}}}"
            ),
            **{p: f"{{{{ params.{p} or '' }}}}" for p in params},
        },
        append_env=True,
        pre_execute=refuse_unknown_params,
        **kwargs,
    )


def training_tasks(taxi: Source) -> None:
    """Create the tasks that check the loaded tables' provenance and train a service's forecasts.

    The flow checks again, because only it has the resolved parameters of the run.
    """
    sources = (taxi, WEATHER) if load_settings().forecast_model == "weather" else (taxi,)
    gate = ProvenanceSensor(
        task_id="await_provenance",
        tables=[Table(f"{source.table}_raw") for source in sources],
        doc="Wait until the lineage server's gate approves the tables.",
        poke_interval=POLL_SECONDS,
        timeout=TIMEOUT_SECONDS,
    )
    train = flow_task(
        "run_flow",
        flow=REPOSITORY / "metaflow_flows" / "train_forecast_model" / "flow.py",
        params=list(training_params()),
        args=shlex.join(["--service", taxi.name, *FLOW_TAGS]),
        doc="Run TrainForecastModelFlow.",
    )
    chain(gate, train)


def _copied(source: Dataset, target: Dataset) -> lineage.LineageDatasetEntry:
    """Return the lineage of a file that was copied from its source."""
    origin = lineage.LineageDatasetInput(source.namespace, source.name, "DATASET")
    return lineage.LineageDatasetEntry(target.namespace, target.name, "DATASET", [origin])
