"""The naming rules: equal places have one canonical name, different places never do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.identity import canonical_name, is_local
from headwater.identity._names import DatasetName
from headwater.identity._rules import RULES

_TABLE = "db.public.t"


@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        ("abfs://c@a.dfs.core.windows.net", "abfss://c@A.dfs.core.windows.net/", "/x/y"),
        ("wasb://c@a.blob.core.windows.net", "wasbs://c@a.blob.core.windows.net", "x/y"),
        ("gcs://b", "gs://b", "/x/y/"),
        ("hdfs://nn", "hdfs://NN:8020", "/x"),
        ("dbfs:/", "dbfs", "/mnt/x"),
        ("cosn://b", "cos://b", "x"),
        ("postgresql://DB", "postgres://db:5432", _TABLE),
        ("postgres://db:None", "postgres://db:5432", _TABLE),
        ("mariadb://db:3306", "mysql://db", _TABLE),
        ("mssql://db", "sqlserver://db:1433", _TABLE),
        ("redshift://c.eu-west-1", "redshift://c.eu-west-1:5439", _TABLE),
        ("oracle://h", "oracle://H:1521", _TABLE),
        ("cassandra://h", "cassandra://h:9042", _TABLE),
        ("trino://h", "trino://h:8080/", _TABLE),
        ("jdbc:postgresql://db", "postgres://db:5432", _TABLE),
        ("jdbc:sqlserver://db", "mssql://db:1433", _TABLE),
        ("thrift://h:9083", "hive://H:9083", "db.t"),
        ("kafka://b", "kafka://b:9092", "topic"),
        ("kafka://B2,b1:9093", "kafka://b1:9093,b2:9092", "topic"),
        ("snowflake://ASDF1234.eu-central-1", "snowflake://asdf1234.eu-central-1.aws", _TABLE),
        ("snowflake://org-my_account", "snowflake://ORG-MY-ACCOUNT", _TABLE),
        ("snowflake://org-a.privatelink.snowflakecomputing.com", "snowflake://org-a", _TABLE),
        ("snowflake://xy1.eu-west-1.privatelink", "snowflake://xy1.eu-west-1.aws", _TABLE),
        ("kafka://SASL_SSL://b1:9093,SASL_SSL://b2:9093", "kafka://b2:9093, b1:9093", "topic"),
        ("thrift://m1:9083,thrift://m2:9083", "hive://m2:9083,m1:9083", "db.t"),
        ("mssql://db\\Sales:1433", "sqlserver://db:1433/sales", _TABLE),
        ("jdbc:sqlserver://db:1433;encrypt=true", "mssql://db", _TABLE),
        ("jdbc:databricks://w.net:443;httpPath=/sql/1.0/x", "databricks://W.net", _TABLE),
        ("jdbc:postgresql://db?sslmode=require", "postgres://db:5432", _TABLE),
        ("postgres://etl@db:5432", "postgres://reports@db", _TABLE),
        ("http://Catalog:80/api/", "http://catalog/api", "db.t"),
        ("https://catalog:443", "https://catalog/", "db.t"),
    ],
)
def test_spellings_of_one_place_are_equal(one: str, other: str, name: str) -> None:
    assert canonical_name(one, name) == canonical_name(other, name)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("wasbs://c@acct.blob.core.windows.net|x/y", "abfss://c@acct.dfs.core.windows.net|/x/y"),
        ("wasb://c@acct.dfs.core.windows.net|x", "abfs://c@acct.dfs.core.windows.net:443|x"),
        ("https://acct.dfs.core.windows.net/c|x/y", "abfss://c@acct.dfs.core.windows.net|x/y"),
        ("https://ACCT.blob.core.windows.net|c/x/y", "abfss://c@acct.dfs.core.windows.net|x/y"),
        ("https://acct.blob.core.windows.net:443/c/x|y", "abfss://c@acct.dfs.core.windows.net|x/y"),
        ("https://acct.blob.core.windows.net/c|/", "abfss://c@acct.dfs.core.windows.net|/"),
        ("https://acct.dfs.core.usgovcloudapi.net/c|x", "abfs://c@acct.dfs.core.usgovcloudapi.net|x"),
        ("https://onelake.dfs.fabric.microsoft.com/ws|l/t", "abfss://ws@onelake.dfs.fabric.microsoft.com|l/t"),
        ("https://lake.s3.eu-west-1.amazonaws.com|x/y", "s3a://lake|/x/y"),
        ("https://my.lake.s3.amazonaws.com/x|y", "s3://my.lake|x/y"),
        ("https://s3.eu-west-1.amazonaws.com/lake|x/y", "s3://lake|x/y"),
        ("https://s3.amazonaws.com|lake/x/y", "s3://lake|x/y"),
        ("https://storage.googleapis.com/lake|x/y", "gcs://lake|x/y"),
        ("https://storage.cloud.google.com|lake/x/y", "gs://lake|x/y"),
    ],
)  # fmt: skip
def test_endpoints_of_object_stores_are_their_places(one: str, other: str) -> None:
    assert canonical_name(*one.split("|")) == canonical_name(*other.split("|"))


@pytest.mark.parametrize("name", ["`p.d.t`", "`p`.`d`.`t`", "p.d.`t`"])
def test_quotes_are_no_part_of_a_name_in_bigquery(name: str) -> None:
    assert canonical_name("bigquery", name) == ("bigquery", "p.d.t")


@pytest.mark.parametrize("name", ["p.d.t$20260101", "p:d.t", "p:d.t$2026010112", "`p:d.t`"])
def test_partitions_and_legacy_names_are_the_table_in_bigquery(name: str) -> None:
    assert canonical_name("bigquery", name) == ("bigquery", "p.d.t")
    assert canonical_name("bigquery", "example.com:p.d.t") == ("bigquery", "example.com:p.d.t")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://catalog|b.t", "https://catalog|b.t"),
        ("http://catalog:8181|b.t", "http://catalog|b.t"),
        ("http://catalog/a|b.t", "http://catalog/b|b.t"),
        ("https://api/x?id=1|t", "https://api/x?id=2|t"),
        ("mssql://db/Sales|a.b.t", "mssql://db/Stock|a.b.t"),
        ("mssql://db/Sales|a.b.t", "mssql://db|a.b.t"),
        ("jdbc:sqlserver://db;databaseName=a|b.t", "jdbc:sqlserver://db;databaseName=b|b.t"),
        ("jdbc:sqlserver://db;instanceName=a|b.t", "jdbc:sqlserver://db|b.t"),
        ("jdbc:postgresql://db/d?currentSchema=a|t", "jdbc:postgresql://db/d?currentSchema=b|t"),
        ("abfss://c@a.dfs.core.windows.net|x", "abfss://a.dfs.core.windows.net|x"),
        ("jdbc:postgresql://db:5433|a.b.t", "postgres://db|a.b.t"),
        ("abfss://c@a.dfs.core.windows.net|x", "abfss://c@b.dfs.core.windows.net|x"),
        ("abfss://c@a.dfs.core.windows.net|x", "abfss://d@a.dfs.core.windows.net|x"),
        ("abfss://c@a.dfs.core.windows.net|x", "wasbs://c@b.blob.core.windows.net|x"),
        ("abfss://c@a.dfs.core.windows.net|x", "wasbs://d@a.blob.core.windows.net|x"),
        ("abfss://c@a.dfs.core.windows.net|x", "abfss://c@a.dfs.core.usgovcloudapi.net|x"),
        ("https://acct.dfs.core.windows.net/c|x", "https://acct.dfs.core.windows.net/d|x"),
        ("https://acct.dfs.core.windows.net/c|x", "abfss://c@other.dfs.core.windows.net|x"),
        ("https://lake.s3.amazonaws.com|x", "https://other.s3.amazonaws.com|x"),
        ("https://s3.example.org/lake|x", "s3://lake|x"),
        ("https://storage.googleapis.com/lake|x", "gs://other|x"),
        ("s3://b|x", "gs://b|x"),
        ("s3://b|X", "s3://b|x"),
        ("hdfs://a|/x", "hdfs://b|/x"),
        ("hdfs://a:8020|/x", "hdfs://a:9000|/x"),
        ("postgres://h:5432|a.b.T", "postgres://h:5432|a.b.t"),
        ("postgres://h:5433|a.b.t", "postgres://h|a.b.t"),
        ("postgres://h:5439|a.b.t", "redshift://h:5439|a.b.t"),
        ("hive://h|b.t", "hive://h:9083|b.t"),
        ("snowflake://a.eu-central-1|d.s.t", "snowflake://a.eu-central-1.azure|d.s.t"),
        ("snowflake://a-b|d.s.T", "snowflake://a-b|d.s.t"),
        ("bigquery|p.d.T", "bigquery|p.d.t"),
        ("kafka://a:9092|t", "kafka://b:9092|t"),
        ("kafka://a,b:9093|t", "kafka://a:9093,b|t"),
        ("metaflow://Dev|F/x", "metaflow://dev|F/x"),
    ],
)
def test_names_of_different_places_differ(one: str, other: str) -> None:
    assert canonical_name(*one.split("|")) != canonical_name(*other.split("|"))


_SCHEMES = [scheme for rule in RULES for scheme in (rule.scheme, *rule.aliases)]
_AUTHORITIES = ["h", "H:5432", "h:None", "h:", "c@a.net", "b1:9092,b2:9092", "[::1]:5432",
                "x.eu-central-1", "a_b.snowflakecomputing.com", "h:5432/", "h/wh/", ""]  # fmt: skip


@given(
    scheme=st.sampled_from(_SCHEMES),
    authority=st.sampled_from(_AUTHORITIES) | st.text("aB1:@/._-\\;?= ", max_size=9),
    name=st.text("aB/.", max_size=6),
)
def test_canonical_names_of_all_rules_are_idempotent(
    scheme: str, authority: str, name: str
) -> None:
    once = canonical_name(f"{scheme}://{authority}", name)
    assert canonical_name(*once) == once


@given(
    scheme=st.sampled_from(_SCHEMES),
    one=st.from_regex(r"[a-z]{1,6}(\.[a-z]{2,4})?(:[1-9]\d{1,3})?", fullmatch=True),
    other=st.from_regex(r"[a-z]{1,6}(\.[a-z]{2,4})?(:[1-9]\d{1,3})?", fullmatch=True),
)
def test_different_hosts_never_have_one_name(scheme: str, one: str, other: str) -> None:
    def place(authority: str) -> tuple[str, str]:
        host, _, port = authority.partition(":")
        rule = next(rule for rule in RULES if scheme in (rule.scheme, *rule.aliases))
        return host, port or str(rule.port or rule.omitted_port or "")

    names = canonical_name(f"{scheme}://{one}", "t"), canonical_name(f"{scheme}://{other}", "t")
    assert (names[0] == names[1]) == (place(one) == place(other))


def test_every_rule_cites_a_source() -> None:
    assert all(rule.source.startswith(("https://", "openlineage-spark")) for rule in RULES)
    assert len(set(_SCHEMES)) == len(_SCHEMES)


@pytest.mark.parametrize(
    "namespace",
    [
        "flink://", "flink://hive", "unity-catalog", "spark_catalog", "default", "warehouse",
        "/wh/shop.db",
        "hive://localhost:9083", "hive://127.0.0.1:9083", "hive://[::1]:9083", "hive://10.0.9.12",
        "hive://ip-10-0-9-12.ec2.internal:9083", "thrift://ip-10-0-9-12.eu-west-1.compute.internal",
        "hive://producer-test-m:9083", "hive://job-m.us-east1-b.c.project.internal:9083",
        "hive://metastore.data.svc.cluster.local:9083", "hive://metastore-7c9d8f6b5d-x2x8z:9083",
        "hive://3f2a9c81b7de:9083", "postgres://host.docker.internal", "trino://laptop.local",
        "hive://vm.abc.internal.cloudapp.net", "hive://DESKTOP-AB12CD3:9083",
        "hive://host.containers.internal:9083", "hive://emr-header-1.cluster-12345:9083",
        "hive://master-1-1.c-0123456789abcdef.cn-beijing.emr.aliyuncs.com:9083",
    ],
)  # fmt: skip
def test_namespaces_of_a_session_or_machine_are_local(namespace: str) -> None:
    assert is_local(canonical_name(namespace, "db.t"))


@pytest.mark.parametrize(
    "namespace",
    [
        "hive://lakehouse", "hive://lake:9083", "hive://metastore.example.org:9083", "bigquery",
        "arn:aws:glue:eu-west-1:123456789012", "s3://lake", "file", "dbfs",
        "http://catalog:8181", "snowflake://org-account", "hdfs://nn/wh", "hive://metastore.prod",
        "hive://laptop-data.example.org", "hive://master-data",
    ],
)  # fmt: skip
def test_names_of_catalogs_and_locations_are_not_local(namespace: str) -> None:
    assert not is_local(canonical_name(namespace, "db.t"))


def test_names_in_flinks_default_catalog_are_local() -> None:
    assert is_local(DatasetName("kafka://k:9092", "default_catalog.default_database.source"))
    assert not is_local(DatasetName("kafka://k:9092", "default_database.source"))
