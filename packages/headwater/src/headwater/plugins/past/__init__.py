"""Answer queries about one node as of a past time from the events that they need."""

from headwater.plugin import Plugin

plugin = Plugin(
    pasts=["headwater.plugins.past.answer:answer_at"],
    tables=["headwater.plugins.past.store:metadata"],
    workers=["headwater.plugins.past.background:workers"],
)
