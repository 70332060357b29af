"""Trust in the lineage: freshness, completeness, health, gates and contracts. Pure functions."""
