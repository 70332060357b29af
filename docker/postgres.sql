-- The lineage server's database; the image creates Airflow's (POSTGRES_DB).
CREATE DATABASE headwater;
