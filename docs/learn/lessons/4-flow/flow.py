"""Rank taxi zones by their forecasted rides."""

from metaflow import FlowSpec, step

FORECAST = {"JFK Airport": 212, "Midtown Center": 318, "Upper East Side South": 287}
"""Rides by zone: a stand-in for a query of the forecast table."""


class RankZonesFlow(FlowSpec):
    """Rank taxi zones by their forecasted rides."""

    @step
    def start(self):
        """Read the forecast."""
        self.rides = dict(FORECAST)
        self.next(self.end)

    @step
    def end(self):
        """Rank the zones."""
        self.ranking = sorted(self.rides, key=self.rides.get, reverse=True)


if __name__ == "__main__":
    RankZonesFlow()
