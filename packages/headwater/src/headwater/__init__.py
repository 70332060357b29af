"""headwater: an OpenLineage collector with a store, a Marquez-compatible API and a CLI.

Modules for other packages:

- `plugins`: the class `Plugin`, by which a package adds parts to headwater
- `harvest.harvester`: the interface of an import source
- `delivery.backend`, `delivery.models`: the interface of a backend, and its settings
- `trust.gate`: check provenance against a policy in Python
- `log`, `projection`, `events`: read a log, project it, parse an event

Modules that start with an underscore are private to their package.
"""
