"""Import lineage from logs and catalogs."""

from throughline.harvest.harvester import Cursor, Harvester, Portion, find_harvester
from throughline.harvest.joined import Joiner
from throughline.harvest.run import Harvest, State
from throughline.harvest.summary import Summary

__all__ = [
    "Cursor",
    "Harvest",
    "Harvester",
    "Joiner",
    "Portion",
    "State",
    "Summary",
    "find_harvester",
]
