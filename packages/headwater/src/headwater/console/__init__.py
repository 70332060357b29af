"""Common parts of the commands: options, the server or log to query, and output."""
