"""Read SQL texts, when a query needs them and in the background, and store the results."""

from headwater.plugin import Plugin

plugin = Plugin(
    before_restore=["headwater.plugins.sql.background:before_restore"],
    metrics=["headwater.plugins.sql.background:metrics"],
    sql=["headwater.plugins.sql.reader"],
    tables=["headwater.plugins.sql.store:metadata"],
    workers=["headwater.plugins.sql.background:workers"],
)
