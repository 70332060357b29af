"""Rules that rename datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.errors import ConfigError
from headwater_aws._names import BUILT_IN, read_names

ACCOUNT = "111122223333"
RULE = "rules: [{{namespace: '{0}', name: '{1}', to_namespace: '{2}', to_name: '{3}'}}]"


@pytest.mark.parametrize(
    ("namespace", "name", "expected"),
    [
        (
            "redshift://lake.eu-central-1:5439",
            "dev.public.rides",
            ("arn:aws:redshift:eu-central-1:111122223333", "table/lake/dev/public/rides"),
        ),
        (
            "redshift://lake.abc123.us-east-1.redshift.amazonaws.com:5439",
            "dev.public.rides",
            ("arn:aws:redshift:us-east-1:111122223333", "table/lake/dev/public/rides"),
        ),
        (
            "redshift://wg.999988887777.us-gov-west-1.redshift-serverless.amazonaws.com:5439",
            "dev.public.rides",
            ("arn:aws:redshift-serverless:us-gov-west-1:999988887777", "table/wg/dev/public/rides"),
        ),
        (
            "awsathena://athena.us-east-1.amazonaws.com",
            "AwsDataCatalog.nyc_taxi.rides",
            ("arn:aws:glue:us-east-1:111122223333", "table/nyc_taxi/rides"),
        ),
        ("redshift://lake.us-east-1", "rides", ("redshift://lake.us-east-1", "rides")),
        ("s3://redshift", "a.b.c", ("s3://redshift", "a.b.c")),
    ],
)
def test_default_rules_create_arns(namespace: str, name: str, expected: tuple[str, str]) -> None:
    assert read_names(BUILT_IN, ACCOUNT).dataset(namespace, name) == expected


def test_every_mention_of_a_dataset_is_renamed(tmp_path: Path) -> None:
    path = tmp_path / "names.yaml"
    hive, own = r"hive://(?P<host>\w+)", r"db\.(?P<table>\w+)"
    path.write_text(RULE.format(hive, own, "glue:{host}:{account}", "{table}"))
    old = {"namespace": "hive://h", "name": "db.t"}
    new = {"namespace": f"glue:h:{ACCOUNT}", "name": "t"}

    def event(table: dict[str, Any]) -> dict[str, Any]:
        lineage = {"fields": {"x": {"inputFields": [{**table, "field": "y"}]}}, "dataset": [table]}
        return {
            "job": {"namespace": "hive://h", "name": "db.t"},
            "inputs": [{**table, "facets": {"symlinks": {"identifiers": [table]}}}],
            "outputs": [{**table, "facets": {"columnLineage": lineage}}],
        }

    original = event(old)
    assert read_names(path, ACCOUNT).event(original) == event(new)
    assert original == event(old)


def test_first_matching_rule_applies(tmp_path: Path) -> None:
    path = tmp_path / "names.yaml"
    path.write_text(
        "rules:\n"
        "- {namespace: a, name: x, to_namespace: first, to_name: n}\n"
        "- {namespace: .*, name: .*, to_namespace: second, to_name: n}\n"
    )
    names = read_names(path, ACCOUNT)
    assert names.dataset("a", "x") == ("first", "n")
    assert names.dataset("a", "xy") == ("second", "n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: 3", "rules: received 3, expected a valid list"),
        ("rules: [{namespace: a}]", r"rules\[0\].name: received nothing, it is required"),
        (RULE.format("(", "b", "c", "d"), r"rules\[0\].*namespace: '\(' is not a regular expr"),
        (RULE.format("a", "b", "c", "{table}"), "received {table}, allowed are the named groups"),
        (RULE.format("a", "b", "{", "d"), "to_namespace: received '{': "),
    ],
)
def test_invalid_file_is_an_error_with_a_reason(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "names.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_names(path, ACCOUNT)
