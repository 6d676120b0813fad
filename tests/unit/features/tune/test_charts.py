"""The chart of a search shows its settings in the order in which they were tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from compared_runs import EVEN, store, times

from irbench.charts.records import chart_rows
from irbench.spec import Objective
from irbench.store.runs import read_launches

pytest.importorskip("altair", reason="needs the extra report")

pytestmark = pytest.mark.ci


@pytest.mark.parametrize("objective", ["latency", "fps", "cost"])
def test_the_best_until_a_trial_never_becomes_worse(objective: Objective, tmp_path: Path):
    from irbench.features.tune.charts import trials

    run = store(tmp_path, {"a": EVEN, "b": times(0.5), "c": times(2)})
    rows = chart_rows(run.document.groups[0], 0)
    found = trials(rows, list(read_launches(run.folder, run.document)), 0, objective)
    assert [record["place"] for record in found] == list(range(1, len(found) + 1))
    best = [record["best"] for record in found]
    assert best == sorted(best, reverse=objective == "latency")  # type: ignore[type-var]
    assert all(record["best"] is not None and record["value"] is not None for record in found)


def test_rows_that_were_not_launched_are_no_trials(tmp_path: Path):
    from irbench.features.tune.charts import trials

    run = store(tmp_path, {"a": EVEN, "b": times(0.5)})
    rows = chart_rows(run.document.groups[0], 0)
    assert trials(rows, [], 0, "fps") == []
    assert trials(rows, list(read_launches(run.folder, run.document)), 1, "fps") == []
