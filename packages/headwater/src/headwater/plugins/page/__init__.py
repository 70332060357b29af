"""The page, which is built from packages/headwater/web."""

from headwater.plugin import Plugin

plugin = Plugin(
    routers=["headwater.plugins.page.endpoints:router"],
    unknown_paths=["headwater.plugins.page.endpoints:not_found"],
)
