"""Deliver events to backends: one forwarder for each, with its own cursor into the log."""

from headwater.plugin import Plugin

plugin = Plugin(
    backends={
        "console": "headwater.plugins.delivery.backends:Console",
        "datahub": "headwater.plugins.delivery.backends:DataHub",
        "file": "headwater.plugins.delivery.backends:File",
        "http": "headwater.plugins.delivery.backends:Http",
        "marquez": "headwater.plugins.delivery.backends:Marquez",
        "openmetadata": "headwater.plugins.delivery.backends:OpenMetadata",
    },
    commands=[
        "headwater.plugins.delivery.commands:commands",
        "headwater.plugins.delivery.replay_command:commands",
    ],
    holds=["headwater.plugins.delivery._store:undelivered"],
    metrics=["headwater.plugins.delivery.metrics:metrics"],
    routers=["headwater.plugins.delivery.endpoints:router"],
    tables=["headwater.plugins.delivery.tables:metadata"],
    workers=["headwater.plugins.delivery.forwarder:workers"],
)
