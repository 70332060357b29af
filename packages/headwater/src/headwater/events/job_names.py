"""Jobs of dbt: names that differ between commands, and tests, whose outputs are no tables."""

from __future__ import annotations

import re

from headwater.events._event import Facets, JobRef

_DBT_BUILD = re.compile(r"(?<=[^.])\.build(?:\.run|(\.(?:test|snapshot|seed)))$")


def canonical_job(ref: JobRef, facets: Facets) -> JobRef:
    """Return the job of an event, with the same name for all dbt commands."""
    return JobRef(ref.namespace, without_build(ref.name)) if _is_dbt(facets) else ref


def is_dbt_test(facets: Facets) -> bool:
    """Return True for a test of dbt. Its output is reported even if `store_failures` is off."""
    return _is_dbt(facets) and facets["jobType"].get("jobType") == "TEST"


def _is_dbt(facets: Facets) -> bool:
    return str(facets.get("jobType", {}).get("integration")).upper() == "DBT"


def without_build(name: str) -> str:
    """Return the name that other dbt commands report for a job of `dbt build`.

    `dbt build` reports `orders.build.run` and `orders.build.test`; `dbt run` and `dbt test` report
    `orders` and `orders.test`. Other names are returned unchanged.
    """
    return _DBT_BUILD.sub(lambda match: match[1] or "", name)
