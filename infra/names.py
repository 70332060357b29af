"""What the infrastructure is called."""

from __future__ import annotations

import hashlib

STACK = "airflow-metaflow-lakehouse"
"""Name of the CloudFormation stack: one an account and region."""

BUCKET_PREFIX = "airflow-metaflow"


def bucket_name(account: str, region: str) -> str:
    """The lakehouse's bucket: the same for the same account and region, else another.

    Bucket names are shared by all accounts of AWS and end up in logs and lineage, hence a hash
    in place of the account's number.
    """
    digest = hashlib.sha256(f"{account}/{region}".encode()).hexdigest()
    return f"{BUCKET_PREFIX}-{digest[:10]}"
