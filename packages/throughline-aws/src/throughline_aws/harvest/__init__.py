"""Harvesters that need boto3; `throughline harvest` finds them as entry points."""
