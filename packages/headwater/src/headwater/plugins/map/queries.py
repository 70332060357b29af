"""Queries of the map and the pipelines."""

from headwater.plugins.map._map import map_answer
from headwater.plugins.map._pipelines import pipelines_answer

__all__ = ["map_answer", "pipelines_answer"]
