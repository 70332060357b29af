"""Lineage: trees, graphs, columns, impact, paths, provenance and tags."""
