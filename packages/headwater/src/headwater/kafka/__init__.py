"""Read events from Kafka, where OpenLineage's Kafka transports send them."""

from headwater.plugins import Plugin

plugin = Plugin(
    metrics=["headwater.kafka.partitions:metrics"],
    tables=["headwater.kafka.partitions:metadata"],
    workers=["headwater.kafka.reader:workers"],
)
