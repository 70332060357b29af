"""Import lineage from logs and catalogs."""
