"""Import lineage from logs and catalogs."""

from headwater.plugins import Plugin

plugin = Plugin(
    commands=["headwater.harvest.commands:commands"],
    harvesters={
        "spark-logs": "headwater.harvest._sources:spark_logs",
        "airflow-logs": "headwater.harvest._sources:airflow_logs",
        "dbt": "headwater.harvest._sources:dbt",
    },
)
