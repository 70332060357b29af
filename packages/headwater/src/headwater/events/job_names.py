"""Names of jobs that a producer reports under several names."""

from __future__ import annotations

import re

from headwater.events._event import Facets, JobRef

_DBT_BUILD = re.compile(r"(?<=[^.])\.build(?:\.run|(\.(?:test|snapshot|seed)))$")


def canonical_job(ref: JobRef, facets: Facets) -> JobRef:
    """Return the job of an event, with the same name for all dbt commands."""
    integration = facets.get("jobType", {}).get("integration")
    is_dbt = isinstance(integration, str) and integration.upper() == "DBT"
    return JobRef(ref.namespace, without_build(ref.name)) if is_dbt else ref


def without_build(name: str) -> str:
    """Return the name that other dbt commands report for a job of `dbt build`.

    `dbt build` reports `orders.build.run` and `orders.build.test`; `dbt run` and `dbt test` report
    `orders` and `orders.test`. Other names are returned unchanged.
    """
    return _DBT_BUILD.sub(lambda match: match[1] or "", name)
