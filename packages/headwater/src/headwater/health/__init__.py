"""Health of jobs and datasets: one state each, and the evidence for it. Pure functions."""
