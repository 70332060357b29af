"""headwater: an OpenLineage collector with a store, a Marquez-compatible API and a CLI.

Modules for other packages:

- `wrap.function`: the decorator `lineage`, which reports calls of a Python function
- `spool`: a transport for openlineage-python that writes to a spool folder
- `harvest.harvester`: an import source (entry point `headwater.harvesters`)
- `delivery.backend`, `delivery.models`: a backend (entry point `headwater.backends`)
- `trust.gate`: check provenance against a policy in Python
- `log`, `projection`, `events`: read a log, project it, parse an event

Modules that start with an underscore are private to their package.
"""
