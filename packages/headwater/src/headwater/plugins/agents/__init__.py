"""Tools for agents over the Model Context Protocol: at `/mcp` of the server, and over stdio."""

from headwater.plugin import Plugin

plugin = Plugin(
    commands=["headwater.plugins.agents.commands:commands"],
    routers=["headwater.plugins.agents.endpoints:router"],
)
