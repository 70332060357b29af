"""The HTTP server: the application, access, limits, events and queries."""
