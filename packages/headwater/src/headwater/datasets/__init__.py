"""Datasets: schemas, versions and quality checks."""
