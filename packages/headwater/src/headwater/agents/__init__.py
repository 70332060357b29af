"""Tools for agents over the Model Context Protocol: at `/mcp` of the server, and over stdio."""

from headwater.plugins import Plugin

plugin = Plugin(
    commands=["headwater.agents.commands:commands"],
    routers=["headwater.agents.endpoints:router"],
)
