"""headwater: an OpenLineage collector with a store, a Marquez-compatible API and a CLI.

Modules for other packages:

- `plugin`: the class `Plugin`, by which a package adds parts to headwater
- `plugins.harvest.harvester`: the interface of an import source
- `plugins.delivery.backend`, `plugins.delivery.models`: the interface and settings of a backend
- `plugins.trust.gate`: check provenance against a policy in Python
- `log`, `projection`, `events`: read a log, project it, parse an event

Modules that start with an underscore are private to their package.
"""
