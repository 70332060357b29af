"""Deliver events to backends: one forwarder for each, with its own cursor into the log."""

from headwater.plugins import Plugin

plugin = Plugin(
    backends={
        "console": "headwater.delivery.backends:Console",
        "datahub": "headwater.delivery.backends:DataHub",
        "file": "headwater.delivery.backends:File",
        "http": "headwater.delivery.backends:Http",
        "marquez": "headwater.delivery.backends:Marquez",
        "openmetadata": "headwater.delivery.backends:OpenMetadata",
    },
    commands=["headwater.delivery.commands:commands"],
    holds=["headwater.delivery._store:undelivered"],
    metrics=["headwater.delivery.metrics:metrics"],
    routers=["headwater.delivery.endpoints:router"],
    tables=["headwater.delivery.tables:metadata"],
    workers=["headwater.delivery.forwarder:workers"],
)
