"""Spark jobs as tasks on EMR Serverless; imported only where SPARK names it."""

from __future__ import annotations

from airflow.providers.amazon.aws.operators.emr import EmrServerlessStartJobOperator
from pipeline_tasks import TableOperator


class EmrJobOperator(TableOperator, EmrServerlessStartJobOperator):
    """A job run of EMR Serverless; the provider hands its driver the lineage parent."""
