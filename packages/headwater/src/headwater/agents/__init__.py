"""Tools for agents over the Model Context Protocol: at `/mcp` of the server, and over stdio."""
