"""The charts of a history show its points, and the levels that changes lead to."""

from __future__ import annotations

import pytest
from across_runs_history import LEVELS_MS, history_example, history_of_documents, run

pytest.importorskip("altair", reason="needs the extra report")

pytestmark = pytest.mark.ci


def test_a_figure_that_never_changes_has_no_chart():
    from irbench.features.history.charts import figures_of_history

    assert "p50" in [figure.name for figure in figures_of_history(history_example())]
    same = history_of_documents("resnet50", [run(number, 37.0) for number in range(4)])
    assert list(figures_of_history(same)) == []


def test_a_confirmed_loss_is_red_and_one_to_be_confirmed_is_not():
    from irbench.features.history.charts import figures_of_history

    def verdicts(levels: tuple[float, ...]) -> set[str]:
        found = history_of_documents("resnet50", [run(number, level) for number, level in enumerate(levels)])
        chart = next(figure.chart for figure in figures_of_history(found) if figure.name == "p50").to_dict()
        values = [record for data in chart["datasets"].values() for record in data] if "datasets" in chart else []
        inline = _inline(chart)
        return {record["verdict"] for record in (*values, *inline) if "verdict" in record}

    assert verdicts(LEVELS_MS) == {"slower"}
    assert verdicts(LEVELS_MS[:9]) == {"undecided"}
    assert verdicts(tuple(100 / level for level in LEVELS_MS)) == {"faster"}


def _inline(part: object) -> list[dict[str, object]]:
    """Return the records that lie in a specification."""
    if isinstance(part, list):
        return [record for each in part for record in _inline(each)]
    if not isinstance(part, dict):
        return []
    own = part.get("data", {}).get("values", []) if isinstance(part.get("data"), dict) else []
    return [*own, *(record for value in part.values() for record in _inline(value))]


def test_the_summary_says_every_run_and_change():
    from irbench.features.history.charts import figures_of_history

    found = history_example()
    figure = next(figure for figure in figures_of_history(found) if figure.name == "p50")
    assert all(run_id in figure.summary for run_id in found.runs)
    (change,) = next(own for row in found.rows for own in row.figures if own.figure == "p50").changes
    assert change.run in figure.summary
