"""Runs: lookup, trees, parameters, errors and links to the orchestrator."""
