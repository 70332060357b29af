"""Operator for Spark jobs on EMR Serverless; only imported for SPARK=emr-serverless."""

from __future__ import annotations

from airflow.providers.amazon.aws.operators.emr import EmrServerlessStartJobOperator
from lineage_operator import TableOperator


class EmrJobOperator(TableOperator, EmrServerlessStartJobOperator):
    """A job run on EMR Serverless; the provider passes the lineage parent to its driver."""
