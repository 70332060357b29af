"""Export the projection as JSON, diagrams and Parquet tables."""
