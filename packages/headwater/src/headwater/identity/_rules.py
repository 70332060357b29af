"""The naming rules of datasets: one row per kind of namespace, with its source.

A rule joins only spellings that mean the same place for every producer. Namespaces without a row
are used as reported, and names are never folded, because most platforms allow quoted names that
differ only in case.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

_SPEC = "https://openlineage.io/docs/spec/naming"
_HADOOP = "https://hadoop.apache.org/docs/stable"


class NamingRule(NamedTuple):
    """The spellings of the namespaces of one platform, `scheme://authority`."""

    scheme: str
    """The scheme of the canonical spelling."""
    source: str
    """The specification, or the documentation of a producer, that makes the spellings equal."""
    aliases: tuple[str, ...] = ()
    """Other schemes of the same place."""
    port: int | None = None
    """The port that is meant if the authority has none."""
    omitted_port: int | None = None
    """The port that the canonical spelling omits."""
    names: Literal["table", "key", "path", "url"] = "table"
    """`key`: a key in a bucket, without outer slashes. `path`: an absolute path. `table`: users and
    options of the connection are no part of the namespace."""
    authority: Literal["host", "bucket", "account"] = "host"
    """The authority of a bucket is used as reported; a host or an account ignores case."""


RULES: tuple[NamingRule, ...] = (
    # Object stores and file systems
    NamingRule("s3", f"{_SPEC}; {_HADOOP}/hadoop-aws/tools/hadoop-aws/index.html",
               ("s3a", "s3n"), names="key", authority="bucket"),
    NamingRule("gs", f"{_SPEC}; https://gcsfs.readthedocs.io (protocols gs and gcs)",
               ("gcs",), names="key", authority="bucket"),
    NamingRule("abfss", f"{_SPEC}; {_HADOOP}/hadoop-azure/abfs.html (abfss: abfs over TLS);"
               " https://learn.microsoft.com/azure/storage/blobs/"
               "data-lake-storage-multi-protocol-access (wasbs: the same data)",
               ("abfs", "wasbs", "wasb"), omitted_port=443, names="key"),
    NamingRule("hdfs", f"{_SPEC}; {_HADOOP}/hadoop-project-dist/hadoop-hdfs/hdfs-default.xml"
               " (dfs.namenode.rpc-address: port 8020)",
               port=8020, names="path"),
    NamingRule("viewfs", f"{_HADOOP}/hadoop-project-dist/hadoop-hdfs/ViewFs.html",
               names="path", authority="bucket"),
    NamingRule("adl", f"{_HADOOP}/hadoop-azure-datalake/index.html", names="key"),
    NamingRule("oss", f"{_HADOOP}/hadoop-aliyun/tools/hadoop-aliyun/index.html",
               names="key", authority="bucket"),
    NamingRule("cos", "https://cloud.tencent.com/document/product/436/6884",
               ("cosn",), names="key", authority="bucket"),
    NamingRule("dbfs", f"{_SPEC}", names="path"),
    # Databases
    NamingRule("postgres", f"{_SPEC}; https://www.postgresql.org/docs/current/libpq-connect.html"
               " (both schemes, port 5432)", ("postgresql",), port=5432),
    NamingRule("mysql", f"{_SPEC}; https://mariadb.com/kb/en/about-mariadb-connector-j/"
               " (one protocol, port 3306)", ("mariadb",), port=3306),
    NamingRule("redshift", f"{_SPEC}; https://docs.aws.amazon.com/redshift/latest/mgmt/"
               "connecting-from-psql.html (port 5439)", port=5439),
    NamingRule("sqlserver", f"{_SPEC}; https://learn.microsoft.com/sql/connect/jdbc/"
               "building-the-connection-url (port 1433); mssql: SQLAlchemy and Airflow",
               ("mssql",), port=1433),
    NamingRule("oracle", f"{_SPEC}; https://docs.oracle.com/en/database/oracle/oracle-database/"
               "23/jjdbc (port 1521)", port=1521),
    NamingRule("cassandra", f"{_SPEC}; https://cassandra.apache.org/doc/latest/cassandra/faq/"
               " (port 9042)", port=9042),
    NamingRule("db2", f"{_SPEC}; https://www.ibm.com/docs/en/db2 (port 50000)", port=50000),
    NamingRule("teradata", f"{_SPEC}; https://teradata-docs.s3.amazonaws.com/doc/connectivity/jdbc"
               " (DBS_PORT 1025)", port=1025),
    NamingRule("oceanbase", f"{_SPEC}; https://en.oceanbase.com/docs (port 2881)", port=2881),
    NamingRule("crate", _SPEC),
    NamingRule("clickhouse", "https://clickhouse.com/docs/guides/sre/network-ports"),
    NamingRule("azurecosmos", _SPEC),
    NamingRule("azurekusto", _SPEC),
    # Query engines and catalogs
    NamingRule("trino", f"{_SPEC}; https://github.com/trinodb/trino-python-client (port 8080)",
               port=8080),
    NamingRule("presto", "https://prestodb.io/docs/current/clients/presto-cli.html (port 8080)",
               port=8080),
    NamingRule("hive", f"{_SPEC}; openlineage-spark: thrift:// of hive.metastore.uris is hive://",
               ("thrift",)),
    NamingRule("spark", "https://github.com/OpenLineage/OpenLineage/tree/main/integration/dbt"),
    NamingRule("awsathena", _SPEC),
    NamingRule("databricks", "https://docs.databricks.com/aws/en/integrations/jdbc/compute (443)",
               omitted_port=443),
    NamingRule("http", "https://www.rfc-editor.org/rfc/rfc3986#section-6.2.3",
               omitted_port=80, names="url"),
    NamingRule("https", "https://www.rfc-editor.org/rfc/rfc3986#section-6.2.3",
               omitted_port=443, names="url"),
    NamingRule("snowflake", f"{_SPEC}; https://docs.snowflake.com/en/user-guide/admin-account-"
               "identifier (case, _ or - and .privatelink do not matter; .aws may be missing)",
               authority="account"),
    # Streams
    NamingRule("kafka", f"{_SPEC}; https://kafka.apache.org/documentation (listeners: port 9092)",
               port=9092),
)  # fmt: skip

STORE_URLS = (
    # https://learn.microsoft.com/azure/storage/common/storage-account-overview
    (re.compile(r"(?i)https?://([\w-]{3,24})\.(?:blob|dfs)\.(core\.[\w.]+|fabric\.microsoft\.com)"
                r"(?::443)?/([^/]+)/?(.*)"), r"abfss://\3@\1.dfs.\2"),
    # https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
    (re.compile(r"(?i)https?://s3[\w.-]{0,40}\.amazonaws\.com/([^/]+)/?(.*)"), r"s3://\1"),
    (re.compile(r"(?i)https?://([\w.-]{3,63}?)\.s3[\w.-]{0,40}\.amazonaws\.com/(.*)"), r"s3://\1"),
    # https://cloud.google.com/storage/docs/request-endpoints
    (re.compile(r"(?i)https?://storage\.(googleapis|cloud\.google)\.com/([^/]+)/?(.*)"), r"gs://\2"),
)  # fmt: skip
"""URLs of object stores (`namespace/name`), each with the namespace of the same place.

The last group is the name there; the comment above each is its source.
"""

LOCATION = re.compile(r"(file$|hdfs://[^/]*$|viewfs://[^/]*$|dbfs(://[^/]*)?$"
                      r"|(s3|gs|abfss|adl|oss|cos)://)")  # fmt: skip
"""Namespaces whose names are places in a file system or an object store."""

UNIQUE_NAMESPACE = re.compile(r"bigquery|pubsub|arn:[\w-]+:.+|aws[\w-]*:glue:.+|dbfs:/+[^/].*")
"""Namespaces without a unique host whose names are unique: the global ones of the specification,
and the warehouse folders of catalogs in a shared file system."""

WAREHOUSE = re.compile(r"file:/+([^/].*)")
"""Warehouse folders of one machine. Spark names tables elsewhere after its folder too
(https://spark.apache.org/docs/latest/sql-data-sources-hive-tables.html), so that their names are
unique only for tables in the folder."""

SESSION_NAME = re.compile(r"default_catalog\.default_database\..+")
"""Names in Flink's default catalog, which is in the memory of one session
(https://nightlies.apache.org/flink/flink-docs-stable/docs/dev/table/catalogs/)."""

_LOCAL_HOSTS: tuple[tuple[str, str], ...] = (
    (r"localhost|.+\.localhost|localhost\.localdomain|\[?::1\]?",
     "https://www.rfc-editor.org/rfc/rfc6761"),
    (r"\d{1,3}(\.\d{1,3}){3}|\[[\da-f:.]+\]", "an address is reused: RFC 1918, DHCP"),
    (r".+\.(local|localdomain|lan|home\.arpa)", "RFC 6762, RFC 8375: names of one network"),
    (r"(host|gateway|kubernetes)\.docker\.internal|host\.containers\.internal",
     "https://docs.docker.com/desktop/features/networking/; https://docs.podman.io"),
    (r"(desktop|laptop|win)-[\da-z]{7,11}", "the names that Windows gives to machines"),
    (r"(emr-\w+|master|core)-[\d-]+\.c(luster)?-[\da-f]+(\..+)?", "https://www.alibabacloud.com/help/emr"),
    (r"[\da-f]{12}|[\da-f]{64}", "Docker's default host name: the id of the container"),
    (r"ip-\d+-\d+-\d+-\d+(\..+)?|.+\.ec2\.internal|.+\.compute(-\d+)?\.internal"
     r"|ec2-\d+-\d+-\d+-\d+\..+|domu-.+\.internal|i-[\da-f]{8,17}(\..+)?",
     "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-naming.html"),
    (r".+\.c\.[^.]+(\.[^.]+)?\.internal|.+\.google\.internal",
     "https://cloud.google.com/compute/docs/internal-dns"),
    (r"[^.]+-[mw](-\d+)?", "https://cloud.google.com/dataproc/docs/concepts/configuring-clusters"),
    (r".+\.internal\.cloudapp\.net",
     "https://learn.microsoft.com/azure/virtual-network/"
     "virtual-networks-name-resolution-for-vms-and-role-instances"),
    (r".+\.cluster\.local|[^.]+\.[^.]+\.(svc|pod)",
     "https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/"),
    (r"[^.]+-[bcdf-hj-np-tv-xz2456789]{8,10}-[bcdf-hj-np-tv-xz2456789]{5}",
     "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/ (names of pods)"),
)  # fmt: skip

LOCAL_HOST = re.compile("|".join(f"(?:{host})" for host, _ in _LOCAL_HOSTS))
"""Hosts of one machine, one cluster or one private network: others have the same name."""
