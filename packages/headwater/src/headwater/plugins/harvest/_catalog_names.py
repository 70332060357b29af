"""OpenLineage names of datasets in catalogs, which have platforms but no hosts.

OpenLineage names a table `postgres://db:5432`, `shop.public.orders`; a catalog only has the
platform `postgres` and the name. The user passes the namespace of a place: a platform, or one
service, instance or environment of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headwater.errors import ConfigError
from headwater.identity import DatasetName, canonical_name

log = logging.getLogger(__name__)

_BUCKETS = {"s3": "s3", "gcs": "gs", "gs": "gs"}
"""Platforms whose names are a bucket and a key, by the scheme of their namespaces."""
_GLOBAL = frozenset({"bigquery", "pubsub", "file"})
"""Platforms whose namespace in OpenLineage is their name: they need no host."""


@dataclass(slots=True)
class Namespaces:
    """The namespaces of the platforms of a catalog.

    Without a namespace, a platform's datasets are not the same as those that producers report,
    because catalogs do not contain the host.
    """

    given: Mapping[str, str]
    """Namespaces that the user passed, by platform or service."""
    missing: set[str] = field(default_factory=set)
    """The platforms of datasets without a namespace."""
    places: set[str] = field(default_factory=set)
    """The platforms, services and tools in the catalog."""

    def of_jobs(self, place: str) -> str:
        """Return the namespace of the jobs of an orchestrator, a service or a tool."""
        self.places.add(place)
        return self.given.get(place, place)

    def of(self, place: str, platform: str, name: str) -> DatasetName:
        """Return the name of a dataset; `place` is what the user maps to a namespace.

        `place` is a platform, or a service or instance of one. `name` is the name in the catalog,
        such as `database.schema.table`.
        """
        self.places.add(place)
        namespace = self.given.get(place)
        # a bucket is unique in the world, so its namespace needs no option
        if namespace is None and (scheme := _BUCKETS.get(platform)) and place == platform:
            bucket, _, key = name.partition("/")
            return canonical_name(f"{scheme}://{bucket}", key or "/")
        if namespace is None:
            if place not in _GLOBAL:
                self.missing.add(place)
            return canonical_name(place, name)
        if namespace.startswith("arn:") and ":glue:" in namespace and "/" not in name:
            return canonical_name(namespace, f"table/{name.replace('.', '/', 1)}")
        return canonical_name(namespace, name)

    def warn(self) -> None:
        """Log platforms without a namespace, and namespaces of platforms that do not occur."""
        if unused := sorted(self.given.keys() - self.places):
            log.warning(
                "--namespace %s has no effect: the catalog only has %s",
                ", ".join(unused),
                ", ".join(sorted(self.places)) or "no datasets and jobs",
            )
        if self.missing:
            log.warning(
                "No namespace for %s: the name becomes the namespace of the datasets, which are"
                " then not those of other producers. Pass --namespace, such as --namespace"
                " %s=postgres://db:5432",
                ", ".join(sorted(self.missing)),
                min(self.missing),
            )


def namespaces_of(options: Iterable[str]) -> Namespaces:
    """Parse options such as `snowflake=snowflake://org-account`. Raises ConfigError.

    The place is before the first equals sign.
    """
    given: dict[str, str] = {}
    for option in options:
        place, equals, namespace = option.partition("=")
        if not (equals and place and namespace):
            raise ConfigError(
                f"--namespace: received {option!r}, expected PLATFORM=NAMESPACE, such as"
                " snowflake=snowflake://org-account"
            )
        given[place] = namespace
    return Namespaces(given)
