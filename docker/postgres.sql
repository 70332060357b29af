-- Airflow's database is made by the image (POSTGRES_DB); this is the lineage server's.
CREATE DATABASE throughline;
