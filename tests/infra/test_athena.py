"""`./run sql --engine athena` against a stand-in with prepared responses."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx
import pytest
import sqlglot
from moto.athena.models import Execution, athena_backends
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from commands.athena import is_reading, run_athena
from commands.sql import BadQuery, WritingQuery
from infra.aws import Aws
from lakehouse.errors import SettingsError
from lakehouse.names import DATABASE
from lakehouse.settings import Settings
from metaflow_flows.train_forecast_model.tables import forecast, forecast_rows
from tests.spark.test_forecast_table import athena_query, forecasts

pytestmark = pytest.mark.server

ROWS = [["datetime_hour", "rides"], ["2025-06-01 00:00:00.000", "12"]]


@pytest.fixture
def on_aws(settings: Settings, bucket: str) -> Settings:
    return settings.model_copy(update={"lakehouse": "glue", "bucket": bucket})


def _will_answer(settings: Settings, rows: list[list[str]]) -> None:
    columns = [{"Name": name, "Type": "varchar"} for name in rows[0]]
    answer: dict[str, Any] = {
        "rows": [{"Data": [{"VarCharValue": cell} for cell in row]} for row in rows],
        "column_info": columns,
    }
    url = f"{settings.aws_endpoint_url}/moto-api/static/athena/query-results"
    httpx.post(url, json={"results": [answer]}).raise_for_status()


def test_athena_rows_are_printed_with_column_names(
    on_aws: Settings, aws: Aws, capsys: pytest.CaptureFixture[str]
) -> None:
    _will_answer(on_aws, ROWS)
    run_athena(on_aws, "SELECT 1")
    said = capsys.readouterr().out
    assert said.count("datetime_hour") == 1
    assert "2025-06-01 00:00:00.000 │ 12" in said
    execution: Any
    (execution,) = athena_backends[aws.account][aws.region].executions.values()
    assert execution.query == "SELECT 1"
    assert execution.context == {"Database": DATABASE}
    assert execution.config["OutputLocation"].startswith(f"s3://{on_aws.bucket}/athena/")


def test_cells_are_printed_with_control_characters_escaped(
    on_aws: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    _will_answer(on_aws, [["name[red]"], ["[queens, bronx] [/b]"], ["\x1b[2J"]])
    run_athena(on_aws, "SELECT 1")
    said = capsys.readouterr().out
    assert "name[red]" in said
    assert "[queens, bronx] [/b]" in said
    assert r"\x1b[2J" in said
    assert "\x1b[2J" not in said


def test_athenas_rejection_reason_is_shown(
    on_aws: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Execution, "status", "FAILED", raising=False)
    with pytest.raises(BadQuery, match="FAILED"):
        run_athena(on_aws, "SELECT nonsense")


def test_writing_statement_is_rejected_before_it_reaches_athena(on_aws: Settings, aws: Aws) -> None:
    executions = athena_backends[aws.account][aws.region].executions
    before = len(executions)
    with pytest.raises(WritingQuery, match=r"The query is 'DROP TABLE weather_raw'.* add --write"):
        run_athena(on_aws, "DROP TABLE weather_raw")
    assert len(executions) == before
    _will_answer(on_aws, [["result"]])
    run_athena(on_aws, "DROP TABLE weather_raw", may_write=True)
    assert len(executions) == before + 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1;",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "VALUES (1)",
        "TABLE weather_raw",
        "SELECT 1 UNION ALL (SELECT 2)",
        "SHOW TABLES",
        "DESCRIBE weather_raw",
        "EXPLAIN (FORMAT JSON) SELECT 1",
    ],
)
def test_reading_statements_are_recognized(query: str) -> None:
    assert is_reading(query)


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE a",
        "/* SELECT */ DROP TABLE a",
        "INSERT INTO a SELECT 1",
        "WITH a AS (SELECT 1) INSERT INTO b SELECT * FROM a",
        "DELETE FROM a",
        "UPDATE a SET x = 1",
        "MERGE INTO a USING b ON a.x = b.x WHEN MATCHED THEN DELETE",
        "CREATE TABLE a AS SELECT 1",
        "UNLOAD (SELECT 1) TO 's3://b' WITH (format = 'PARQUET')",
        "OPTIMIZE a REWRITE DATA USING BIN_PACK",
        "VACUUM a",
        "MSCK REPAIR TABLE a",
        "SELECT 1; DROP TABLE a",
        "SHOW TABLES; DROP TABLE a",
        "EXPLAIN ANALYZE INSERT INTO a SELECT 1",
        "not SQL",
        "",
    ],
)
def test_other_statements_count_as_writing(query: str) -> None:
    assert not is_reading(query)


def test_athena_rejects_local_tables(settings: Settings) -> None:
    with pytest.raises(SettingsError, match="Set LAKEHOUSE=glue"):
        run_athena(settings, "SELECT 1")


def test_readme_athena_query_uses_existing_tables_and_columns() -> None:
    moment = datetime(2025, 6, 1)
    rows = forecast_rows(forecasts(moment, [1], 1.0), moment, "naive", "1")
    columns = {field.name: str(field.type) for field in rows.schema}
    parsed = sqlglot.parse_one(athena_query(), dialect="athena")
    assert {table.name for table in parsed.find_all(exp.Table)} == {forecast("yellow").name}
    schema: dict[str, object] = {forecast("yellow").name: columns}
    qualify(parsed, dialect="athena", schema=schema)  # an unknown column is an error
