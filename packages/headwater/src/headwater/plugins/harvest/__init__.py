"""Import lineage from logs and catalogs."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.harvest.commands:commands"],
    harvesters={
        "spark-logs": "headwater.plugins.harvest._sources:spark_logs",
        "airflow-logs": "headwater.plugins.harvest._sources:airflow_logs",
        "dbt": "headwater.plugins.harvest._sources:dbt",
        "datahub": "headwater.plugins.harvest._sources:datahub",
        "marquez": "headwater.plugins.harvest._sources:marquez",
        "openmetadata": "headwater.plugins.harvest._sources:openmetadata",
    },
)
