"""Run any command as a job, with inputs and outputs that are declared in a file.

This package is a producer. It imports nothing of the server, and openlineage-python only after the
command has started.
"""
