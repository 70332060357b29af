"""Load six rows of TLC's lookup of taxi zones, from the file next to this one, into SQLite."""

import csv
import sqlite3
from pathlib import Path

FOLDER = Path(__file__).parent

with (FOLDER / "taxi_zone_lookup.csv").open(newline="") as file:
    zones = [(int(row["LocationID"]), row["Borough"], row["Zone"]) for row in csv.DictReader(file)]
with sqlite3.connect(FOLDER / "zones.db") as database:
    database.execute("DROP TABLE IF EXISTS taxi_zones")
    database.execute("CREATE TABLE taxi_zones (id INTEGER PRIMARY KEY, borough TEXT, zone TEXT)")
    database.executemany("INSERT INTO taxi_zones VALUES (?, ?, ?)", zones)
print(f"Loaded {len(zones)} zones.")  # noqa: T201
