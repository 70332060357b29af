"""Read the SQL of all runs in the background, and store the results."""

from headwater.plugin import Plugin

plugin = Plugin(
    metrics=["headwater.plugins.sql_results.reader:metrics"],
    tables=["headwater.plugins.sql_results.store:metadata"],
    workers=["headwater.plugins.sql_results.reader:workers"],
)
