"""The jobs stage, check_staging and merge, which each source configures with a `Spec`."""

from spark_jobs.ingest.checking import check_staging
from spark_jobs.ingest.merging import merge
from spark_jobs.ingest.spec import Spec
from spark_jobs.ingest.staging import stage

__all__ = ["Spec", "check_staging", "merge", "stage"]
