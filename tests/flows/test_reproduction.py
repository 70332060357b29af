"""The comparison of a run's code and forecasts with those that reproduce it."""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace

import pandas as pd
import pytest

from metaflow_flows.train_forecast_model import forecasting, reproduce, tables
from metaflow_flows.train_forecast_model.plan import Plan
from metaflow_flows.train_forecast_model.reproduce import (
    NotReproducible,
    Recipe,
    code_difference,
)

AS_OF = datetime(2025, 6, 1)


@pytest.mark.parametrize(
    ("then", "now", "difference", "remedy"),
    [
        ("1a", "1a", "", ""),
        ("1a", "2b", "is commit 2b, but run 7 used commit 1a.", "`git checkout 1a` restores it."),
        ("1a-dirty", "1a-dirty", "uncommitted changes, so it is unknown whether", ""),
        ("1a-dirty", "1a", "used commit 1a-dirty.", "`git checkout 1a` restores it without the"),
        ("1a", "1a-dirty", "is commit 1a-dirty, but run 7 used commit 1a.", "`git checkout 1a`"),
        (None, "1a", "is commit 1a, but run 7 used commit unknown.", ""),
        (None, None, "is commit unknown, but run 7 used commit unknown.", ""),
    ],
)
def test_only_the_same_commit_without_changes_is_the_same_code(
    then: str | None, now: str | None, difference: str, remedy: str
) -> None:
    said = code_difference("7", then, now)
    assert difference in said
    assert remedy in said
    assert bool(said) == bool(difference)
    assert ("git checkout" in said) == bool(remedy)


@pytest.mark.filterwarnings("ignore:The _yaml extension module")  # Metaflow's own
@pytest.mark.filterwarnings("ignore:unclosed file")  # Metaflow's own import
@pytest.mark.parametrize(
    ("code", "why"),
    [("1a", "The code is the same commit."), ("2b", "is commit 2b, but run 7 used commit 1a.")],
)
def test_step_that_forecasts_other_rides_than_the_run_fails(
    code: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metaflow_flows.train_forecast_model import steps

    hours = pd.date_range(AS_OF, periods=3, freq="h")
    forecasts = pd.DataFrame({"unique_id": 4, "ds": hours, "forecast": [1.0, 2.0, 3.0]})
    other = forecasts.assign(forecast=[1.0, 2.6, 3.0])
    written = tables.forecast_rows(forecasts, AS_OF, "weather", "7")
    monkeypatch.setattr(steps, "current", SimpleNamespace(run_id="8"))
    monkeypatch.setattr(steps, "earlier_forecasts", lambda *_: (AS_OF, written))
    monkeypatch.setattr(forecasting, "predict", lambda *_: other)
    monkeypatch.setattr(reproduce, "code_version", lambda: code)
    recipe = Recipe(run="7", parameters={}, code="1a", snapshots={}, forecasts=5)
    plan = Plan("green", "weather", AS_OF, AS_OF, 3, (), recipe)
    with pytest.raises(
        NotReproducible, match="Only 2 of 3 forecasts equal those of run 7"
    ) as error:
        steps.write_forecasts(plan, model=None)
    assert why in str(error.value)
