"""Harvesters that need boto3, registered as entry points for `throughline harvest`."""

__all__ = ["commands", "glue", "logs", "redshift"]
