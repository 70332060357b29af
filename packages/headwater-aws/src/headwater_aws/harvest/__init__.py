"""Harvesters that need boto3, registered as entry points for `headwater harvest`."""

__all__ = ["commands", "glue", "logs", "redshift"]
