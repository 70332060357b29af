"""Names of the infrastructure."""

from __future__ import annotations

import hashlib

STACK = "airflow-metaflow-lakehouse"
"""Name of the CloudFormation stack; there is one per account and region."""

BUCKET_PREFIX = "airflow-metaflow"


def bucket_name(account: str, region: str) -> str:
    """Return the name of the lakehouse's bucket, which is unique per account and region.

    Bucket names are global and appear in logs and lineage, so it contains a hash instead of the
    account id.
    """
    digest = hashlib.sha256(f"{account}/{region}".encode()).hexdigest()
    return f"{BUCKET_PREFIX}-{digest[:10]}"
