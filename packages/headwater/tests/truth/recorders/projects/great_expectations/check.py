"""Check a table of SQLite with one expectation that holds and one that fails."""

import os
import sqlite3
from pathlib import Path

import great_expectations as gx
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context.types.resource_identifiers import (
    ExpectationSuiteIdentifier,
    ValidationResultIdentifier,
)
from openlineage.common.provider.great_expectations import OpenLineageValidationAction

database = Path(os.environ["SHOP"]) / "shop.db"
with sqlite3.connect(database) as connection:
    connection.execute("create table rates (zone_id integer, rate real)")
    connection.executemany("insert into rates values (?, ?)", [(1, 1.1), (2, 0.9)])

context = gx.get_context(mode="ephemeral")
source = context.data_sources.add_sqlite("shop", connection_string=f"sqlite:///{database}")
batch = source.add_table_asset("rates", table_name="rates").add_batch_definition_whole_table("all")
suite = context.suites.add(gx.ExpectationSuite("rates_suite"))
suite.add_expectation(gx.expectations.ExpectColumnValuesToNotBeNull(column="rate"))
suite.add_expectation(gx.expectations.ExpectColumnMaxToBeBetween(column="rate", max_value=1))
validator = context.get_validator(
    batch_request=batch.build_batch_request(), expectation_suite=suite
)
result = validator.validate()
action = OpenLineageValidationAction(
    name="openlineage", openlineage_namespace=os.environ["NAMESPACE"], job_name="gx_rates"
)
action._run(
    result,
    ValidationResultIdentifier(
        ExpectationSuiteIdentifier("rates_suite"),
        RunIdentifier(run_name="nightly"),
        validator.active_batch.id,
    ),
    validator,
)
