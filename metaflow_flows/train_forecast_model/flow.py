"""The training flow. Its parameters are in parameters.py, the code of its steps in steps.py.

The launcher, each step and each card import this module in separate processes. So modules that
need pandas are imported inside the steps that use them.
"""

from __future__ import annotations

import sys

from metaflow import card, step  # type: ignore[attr-defined]  # card: defined on import

from metaflow_flows.train_forecast_model import steps
from metaflow_flows.train_forecast_model.card_commands import keep_cards_home
from metaflow_flows.train_forecast_model.parameters import TrainingParameters
from metaflow_openlineage import openlineage


@openlineage(exclude=["provenance"])  # type: ignore[no-untyped-call]  # untyped in Metaflow
class TrainForecastModelFlow(TrainingParameters):
    """Forecast taxi rides for each hour and pickup zone.

    1. Determine the start of the forecast, and check the data's provenance at the gate.
    2. Count the earlier rides per hour and zone with Spark.
    3. Build the training data: the busiest zones and all hours, with zero for hours without rides.
       For the weather model, add the weather of each zone's county.
    4. Evaluate the model on the last days against seasonal-naive, then fit it.
    5. Write the forecasts of the next hours to the lakehouse.
    6. Keep the signed provenance of the model.
    """

    @step
    def start(self) -> None:
        """Make the plan from the parameters or the run to reproduce, and check the gate."""
        self._plan, self._gate = steps.make_plan_behind_gate(self)
        self.next(self.compute_actuals)

    @step
    def compute_actuals(self) -> None:
        """Count the rides per hour and zone for all days that overlap the window."""
        steps.compute_actuals(self._plan)
        self.next(self.prepare_training_data)

    @step
    def prepare_training_data(self) -> None:
        """Select the zones, fill hours without a ride with zero, and add weather if needed."""
        self.training_data, self._read = steps.prepare_training_data(self._plan)
        self.next(self.train)

    @card(type="blank")  # type: ignore[untyped-decorator]
    @step
    def train(self) -> None:
        """Evaluate the model on the last days, fit it on all days, and show both in the card."""
        from metaflow_flows.train_forecast_model import forecasting

        plan = self._plan
        self._held_out = forecasting.forecast_held_out(self.training_data, plan.model)
        self.metrics = forecasting.measure(self._held_out)
        self.model = forecasting.fit(self.training_data, plan.model)
        steps.describe_model(plan, self.metrics, self._gate)
        steps.fill_card(plan, self.metrics, self._held_out, self.model, self._read)
        self.next(self.write_forecasts_to_table)

    @step
    def write_forecasts_to_table(self) -> None:
        """Forecast the next hours and replace the forecasts with the same `as_of`.

        A reproduction writes nothing, but compares its forecasts with the earlier ones.
        """
        self._written = steps.write_forecasts(self._plan, self.model)
        self.next(self.end)

    @step
    def end(self) -> None:
        """Keep the signed provenance of the model with the run and with its forecasts."""
        self.provenance = steps.keep_provenance(self._plan, self._written)


if __name__ == "__main__":
    keep_cards_home(sys.argv)
    TrainForecastModelFlow()  # type: ignore[no-untyped-call]  # untyped in Metaflow
