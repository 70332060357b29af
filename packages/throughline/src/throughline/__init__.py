"""throughline: an OpenLineage collector with a store, a Marquez-compatible API and a CLI."""
