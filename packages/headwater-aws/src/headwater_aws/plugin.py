"""The plugin that adds the backend and the harvesters of this package to headwater."""

from headwater.plugin import Plugin

plugin = Plugin(
    backends={"datazone": "headwater_aws.datazone:DataZone"},
    harvesters={
        "glue-job-logs": "headwater_aws.harvest.commands:glue_job_logs",
        "glue-tables": "headwater_aws.harvest.commands:glue_tables",
        "mwaa-logs": "headwater_aws.harvest.commands:mwaa_logs",
        "redshift": "headwater_aws.harvest.commands:redshift",
    },
)
