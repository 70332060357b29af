"""What the lineage is worth: freshness, completeness, health, gates, contracts. Pure."""
