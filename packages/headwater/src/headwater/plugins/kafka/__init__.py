"""Read events from Kafka, where OpenLineage's Kafka transports send them."""

from headwater.plugin import Plugin

plugin = Plugin(
    metrics=["headwater.plugins.kafka.partitions:metrics"],
    tables=["headwater.plugins.kafka.partitions:metadata"],
    workers=["headwater.plugins.kafka.reader:workers"],
)
