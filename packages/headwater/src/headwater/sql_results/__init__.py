"""Read the SQL of all runs in the background, and store the results."""

from headwater.plugins import Plugin

plugin = Plugin(
    metrics=["headwater.sql_results.reader:metrics"],
    tables=["headwater.sql_results.store:metadata"],
    workers=["headwater.sql_results.reader:workers"],
)
