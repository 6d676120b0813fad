"""Pages of xprof are read as its version writes them: ten traced steps on a CPU, as xprof 2.24.2 gave it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from irbench.features.train.xprof_overview import overview_of

PAGE = (Path(__file__).parents[3] / "xprof_pages" / "input_bound.json").read_text()


def test_what_xprof_says_is_read_in_its_own_figures_and_words() -> None:
    found = overview_of(PAGE)
    own = next(table["p"] for table in json.loads(PAGE) if "steptime_ms_average" in table["p"])
    assert found.steps == 8
    assert f"{found.step_ms:.1f}" == own["steptime_ms_average"]
    assert f"{found.parts_ms['Input']:.1f}" == own["infeed_time_ms_avg"]
    assert f"{found.parts_ms['Host compute']:.1f}" == own["host_compute_time_ms_avg"]
    assert found.parts_ms["Device compute"] == 0.0
    assert sum(found.parts_ms.values()) == pytest.approx(found.step_ms)
    assert found.bottleneck == "host"
    assert found.conclusion == own["input_conclusion"]


def without_steps(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**table, "rows": []} for table in tables]


def without_advice(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**table, "p": {}} for table in tables]


def without_values(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**table, "rows": [{"c": []} for _ in table.get("rows", ())]} for table in tables]


@pytest.mark.parametrize("change", [without_steps, without_advice, without_values, lambda _tables: []])
def test_a_page_without_what_is_read_is_refused(change: Any) -> None:
    with pytest.raises(ValueError, match=r"step|form"):
        overview_of(json.dumps(change(json.loads(PAGE))))


@pytest.mark.parametrize("text", ["", "{}", "not JSON", "[1]"])
def test_what_is_no_page_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        overview_of(text)
