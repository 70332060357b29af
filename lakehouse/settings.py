"""All settings of the project, as one frozen object.

The first source with a value wins; an empty value counts as not set:

1. an argument (``--set NAME=VALUE``, ``--backend`` of a command, ``load_settings(backend=...)``)
2. the environment (the field's name in capitals, ``LINEAGE_BACKEND``)
3. the file ``settings.yaml`` at the top of the repository, or the one ``SETTINGS_FILE`` names
4. OpenLineage's own variables (``OPENLINEAGE_URL``, ``OPENLINEAGE_NAMESPACE``, ...)
5. the default below

``OPENLINEAGE_DISABLED=true`` overrides all of them. docs/reference/settings.md has the full table.

``settings.environ()`` passes all values that differ from the defaults to child processes, so that
Airflow, its tasks, Spark drivers and Metaflow steps resolve the same values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import yaml
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from lakehouse.errors import SettingsError
from lakehouse.faults import Fault
from lakehouse.setting_sources import (
    ENDPOINT,
    disabled_values,
    file_values,
    openlineage_values,
    settings_file,
)
from lakehouse.setting_sources import REPOSITORY as REPOSITORY

ForecastModel = Literal["seasonal_naive", "weather"]

TLC = "https://d37ci6vzurychx.cloudfront.net"
NOAA = "https://www.ncei.noaa.gov/pub/data/daily-grids/v1-0-0"


class Settings(BaseSettings):
    """All settings; the module's docstring lists their sources."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_ignore_empty=True)

    state_dir: Path = Field(
        REPOSITORY / ".state", description="Folder for all data that the commands write."
    )
    data_source: str = Field(
        "generator",
        description="`generator`, `real` (TLC and NOAA), or the path or URL of a mirror with taxi/ "
        "and weather/.",
    )
    taxi_base_url: str = Field("", description="Parent URL of trip-data/; empty: from data_source.")
    weather_base_url: str = Field(
        "", description="Parent URL of averages/; empty: from data_source."
    )
    months_back: int = Field(
        4,
        ge=1,
        le=120,
        description="Months in which a scheduled run checks for new or changed files.",
    )
    generator_rows: int = Field(
        60_000, ge=1_000, description="Taxi trips per month from the generator."
    )
    generator_fault: Fault | None = Field(
        None, description="Fault of the generated taxi files, for tests: see lakehouse/faults.py."
    )

    max_quarantined_share: float = Field(
        0.01,
        ge=0,
        le=1,
        description="Largest share (0 to 1) of a taxi file's rows that may have impossible values. "
        "These rows go to <service>_taxi_quarantine; above the share, the file is rejected.",
    )
    accept_weather_months: str = Field(
        "",
        pattern=r"^(\d{4}-\d{2}(,\s*\d{4}-\d{2})*)?$",
        description="Months, such as 2026-05,2026-06, whose unusual weather is only a warning.",
    )
    forecast_model: ForecastModel = Field(
        "seasonal_naive",
        description="Default forecast model: seasonal_naive or weather.",
    )
    lakehouse: Literal["local", "glue"] = Field(
        "local",
        description="Location of the Iceberg tables: `local` (SQLite catalog) or `glue` (AWS Glue "
        "and S3).",
    )
    aws_region: str = Field("us-east-1", description="AWS region of the lakehouse and the stacks.")
    aws_account: str = Field(
        "", pattern=r"^(\d{12})?$", description="AWS account id; required for LAKEHOUSE=glue."
    )
    aws_profile: str = Field(
        "",
        description="AWS profile for credentials and endpoint; overrides keys in the environment. "
        "Empty: AWS's default credential order.",
    )
    aws_endpoint_url: str = Field("", description="Endpoint that replaces AWS's, for emulators.")
    bucket: str = Field("", description="S3 bucket of the lakehouse; create-infra creates it.")

    keep_snapshots_days: int = Field(
        7, ge=0, description="Days for which earlier versions of every table can be read."
    )
    keep_model_inputs_days: int = Field(
        365, ge=1, description="Days for which a training run can be reproduced."
    )

    spark: Literal["local", "emr-serverless"] = Field(
        "local",
        description="Where the DAGs' Spark jobs run: `local` (at SPARK_MASTER) or `emr-serverless` "
        "(see docs/how-to/emr.md).",
    )
    emr_application_id: str = Field("", description="Id of the EMR Serverless application.")
    emr_role_arn: str = Field("", description="IAM role of the EMR Serverless jobs.")
    emr_prefix: str = Field(
        "emr", min_length=1, description="Prefix in the bucket for the jobs' code from emr-package."
    )
    emr_lineage_url: str = Field(
        "",
        description="URL of the lineage server for EMR jobs; empty: events go to the drivers' "
        "logs.",
    )
    emr_lineage_secret: str = Field(
        "", description="Id of the Secrets Manager secret with the key for emr_lineage_url."
    )

    spark_master: str = Field(
        "local[2]", description="Spark master: local[N] or spark://host:port."
    )
    spark_driver_memory: str = Field("2g", description="Memory of a Spark driver.")
    spark_java_options: str = Field(
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
        description="JVM options of a driver. The default compiles quickly, which suits one month "
        "of trips. For a backfill of years, use -XX:TieredStopAtLevel=4.",
    )

    job_namespace: str = Field("nyc_taxi", description="OpenLineage namespace of the jobs.")
    lineage_backend: str = Field(
        "embedded",
        description="Lineage backends, separated by commas: embedded, datahub, datazone, marquez, "
        "openmetadata, console, file or a URL; or only none.",
    )
    lineage_delivery: Literal["collector", "direct"] = Field(
        "collector",
        description="How other backends receive lineage: `collector` (from the lineage server, "
        "which retries until it is accepted) or `direct` (from each process, one attempt).",
    )
    datahub_url: str = Field(
        "http://localhost:8080", description="URL of DataHub's metadata service."
    )
    datahub_token: SecretStr = Field(SecretStr(""), description="DataHub access token.")
    datazone_domain_id: str = Field(
        "",
        pattern=r"^(dzd[-_][\w-]{1,36})?$",
        description="Id of the Amazon DataZone domain (dzd_...).",
    )
    marquez_url: str = Field("http://localhost:5000", description="URL of the Marquez API.")
    marquez_api_key: SecretStr = Field(SecretStr(""), description="Marquez API key, if required.")
    openmetadata_url: str = Field("http://localhost:8585", description="URL of OpenMetadata.")
    openmetadata_token: SecretStr = Field(SecretStr(""), description="OpenMetadata bot token.")
    lineage_url_api_key: SecretStr = Field(
        SecretStr(""), description="API key for a backend that is a URL."
    )
    lineage_url_endpoint: str = Field(
        ENDPOINT, description="Path of the endpoint for a backend that is a URL."
    )

    airflow_port: int = Field(9090, ge=1, le=65535, description="Port of Airflow's UI and API.")
    headwater_port: int = Field(
        9002,
        ge=1,
        le=65535,
        description="Port of the lineage server. The default is 9003 if lineage goes to a DataHub "
        "on this machine, because its UI uses 9002.",
    )
    headwater_server_url: str = Field(
        "",
        description="URL of the lineage server for processes, if it is not on localhost.",
    )
    headwater_api_key: SecretStr = Field(
        SecretStr(""), description="API key of the lineage server, if required."
    )

    @field_validator("state_dir")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().resolve()

    @field_validator("data_source")
    @classmethod
    def _absolute_source(cls, value: str) -> str:
        is_path = value not in ("generator", "real") and "://" not in value
        return str(Path(value).expanduser().resolve()) if is_path else value

    @model_validator(mode="after")
    def _make_room_for_datahub(self) -> Self:
        backends = {name.strip() for name in self.lineage_backend.split(",")}
        is_here = urlsplit(self.datahub_url).hostname in ("localhost", "127.0.0.1")
        if "datahub" in backends and is_here and "headwater_port" not in self.model_fields_set:
            object.__setattr__(self, "headwater_port", self.headwater_port + 1)
        return self

    @model_validator(mode="after")
    def _ports_differ(self) -> Self:
        if self.airflow_port == self.headwater_port:
            raise ValueError(
                f"AIRFLOW_PORT and HEADWATER_PORT are both {self.airflow_port}; they must differ"
            )
        return self

    @model_validator(mode="after")
    def _glue_is_complete(self) -> Self:
        missing = [n for n in ("bucket", "aws_account") if not getattr(self, n)]
        if self.lakehouse == "glue" and missing:
            raise ValueError(
                f"LAKEHOUSE=glue also requires {' and '.join(n.upper() for n in missing)}; "
                "`./run create-infra` prints them"
            )
        return self

    @model_validator(mode="after")
    def _emr_is_complete(self) -> Self:
        if self.spark != "emr-serverless":
            return self
        if self.lakehouse != "glue":
            raise ValueError(
                f"SPARK=emr-serverless requires LAKEHOUSE=glue, not {self.lakehouse}, because EMR "
                "jobs cannot read tables on this machine"
            )
        if missing := [n for n in ("emr_application_id", "emr_role_arn") if not getattr(self, n)]:
            raise ValueError(
                f"SPARK=emr-serverless also requires {' and '.join(n.upper() for n in missing)}; "
                "`./run create-infra --with emr-serverless` prints them"
            )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources, highest precedence first."""
        file = file_values()
        values = {**file, **env_settings(), **init_settings()}
        others = openlineage_values(os.environ, values)
        return (
            InitSettingsSource(settings_cls, disabled_values(os.environ)),
            init_settings,
            env_settings,
            InitSettingsSource(settings_cls, file),
            InitSettingsSource(settings_cls, {name: pair[1] for name, pair in others.items()}),
        )

    @cached_property
    def taxi_url(self) -> str:
        """Base URL of TLC's site or its mirror, without a trailing slash."""
        return (self.taxi_base_url or self._base("taxi", TLC)).rstrip("/")

    @cached_property
    def weather_url(self) -> str:
        """Base URL of NOAA's site or its mirror, without a trailing slash."""
        return (self.weather_base_url or self._base("weather", NOAA)).rstrip("/")

    def _base(self, kind: str, real: str) -> str:
        if self.data_source == "real":
            return real
        if self.data_source == "generator":
            return (self.state_dir / "generated" / kind).as_uri()
        if "://" in self.data_source:
            return f"{self.data_source.rstrip('/')}/{kind}"
        return (Path(self.data_source) / kind).as_uri()

    @property
    def landing_dir(self) -> Path:
        """Folder of the downloaded files."""
        return self.state_dir / "landing"

    @property
    def spool_dir(self) -> Path:
        """Folder to which all producers on this machine write lineage events."""
        return self.state_dir / "spool"

    @property
    def lineage_database(self) -> Path:
        """The database of the lineage server on this machine."""
        path = self.state_dir / "headwater.db"
        old = self.state_dir / "throughline.db"  # of the server's old name
        return old if old.exists() and not path.exists() else path

    @property
    def warehouse(self) -> str:
        """Location of the Iceberg tables."""
        if self.lakehouse == "glue":
            return f"s3://{self.bucket}/warehouse"
        return str(self.state_dir / "warehouse")

    @property
    def headwater_url(self) -> str:
        """URL of the lineage server for a browser on this machine; see also `lineage_server`."""
        return f"http://localhost:{self.headwater_port}"

    def environ(self) -> dict[str, str]:
        """Return the environment variables that give a child process the same settings."""
        variables: dict[str, str] = {}
        for name in self.model_fields_set | {"state_dir", "headwater_port"}:
            value = getattr(self, name)
            plain = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            variables[name.upper()] = plain
        return variables


def load_settings(**arguments: Any) -> Settings:
    """Resolve the settings; an argument that is None or empty counts as not given.

    Raises:
        SettingsError: a value is not allowed, or the file names an unknown setting.
    """
    values = {k: v for k, v in arguments.items() if v not in (None, "")}
    try:
        return Settings(**values)
    except ValidationError as error:
        problems = "; ".join(_problem(dict(e), values) for e in error.errors())
        raise SettingsError(f"{problems}.") from None
    except (yaml.YAMLError, ValueError) as error:
        raise SettingsError(f"{settings_file()} cannot be read as YAML: {error}") from None


def _problem(error: dict[str, Any], arguments: Collection[str]) -> str:
    """Return one line that names the setting and its source; a possible secret is not repeated."""
    name = ".".join(map(str, error["loc"]))
    field = Settings.model_fields.get(name)
    if not name:
        message = str(error["msg"]).removeprefix("Value error, ")
        return f"{message}. Set them as arguments, in the environment or in {settings_file()}"
    if field is None:
        near = get_close_matches(name.lower(), Settings.model_fields)
        hint = f", did you mean {' or '.join(near)}?" if near else "."
        where = "argument" if name in arguments else settings_file()
        return f"{where}: there is no setting {name}{hint} `./run settings` lists all settings"
    received = "" if field.annotation is SecretStr else f" (received {error['input']!r})"
    return f"{name.upper()} ({source_of(name, arguments)}): {error['msg']}{received}"


def source_of(name: str, arguments: Collection[str] = ()) -> str:
    """Return the source of a setting for a message: argument, environment variable or file."""
    kind, _, rest = _sources(arguments).get(name, "default").partition(" ")
    return {"environment": f"environment variable {rest}", "file": str(settings_file())}.get(
        kind, kind
    )


def _sources(arguments: Collection[str]) -> dict[str, str]:
    """Return the source of each setting that has a value, by precedence."""
    environment = {name.upper() for name, value in os.environ.items() if value}
    file, disabled = file_values(), disabled_values(os.environ)
    names_set = {*arguments, *(name.lower() for name in environment), *file}
    others = openlineage_values(os.environ, names_set)
    origins = {name: f"environment {variable}" for name, (variable, _) in others.items()}
    origins |= dict.fromkeys(file, f"file {settings_file().name}")
    names = (name for name in Settings.model_fields if name.upper() in environment)
    origins |= {name: f"environment {name.upper()}" for name in names}
    origins |= dict.fromkeys(arguments, "argument")
    return origins | dict.fromkeys(disabled, "environment OPENLINEAGE_DISABLED")


def sources(settings: Settings, arguments: Collection[str] = ()) -> list[tuple[str, str, str, str]]:
    """Return name, masked value, source and description of every setting, in declared order.

    `arguments` lists the names of settings given as arguments.
    """
    origins, rows = _sources(arguments), []
    for name, field in Settings.model_fields.items():
        source = origins.get(name) or (
            "argument" if name in settings.model_fields_set else "default"
        )
        shown = re.sub(r"://[^/@]*@", "://***@", str(getattr(settings, name)))
        rows.append((name, shown, source, field.description or ""))
    return rows
