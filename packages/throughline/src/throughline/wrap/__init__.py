"""Run any command as a job: its inputs and outputs are declared in a file.

This package is a producer. It imports nothing of the server, and openlineage-python only after the
command has started.
"""
