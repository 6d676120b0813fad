"""A search has only those settings that keep the limit, and tells the best of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import launches
import pytest

from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.features.tune import accuracy
from irbench.features.tune.tuning_rows import TuningRows, excluded, within_accuracy
from irbench.features.tune.space import SearchSpace
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.spec import Accuracy, AccuracyLimit

LIMIT = AccuracyLimit(0.99)
GROUP = launches.group("fp32", "bf16", "int8", "default", "unused")
CELLS = {cell.id: cell for cell in GROUP.cells}
ROWS = TuningRows(
    request=RunRequest((), (), accuracy=LIMIT),
    planned=PlannedGroup(GROUP),
    space=SearchSpace((CELLS["fp32"], CELLS["bf16"], CELLS["int8"]), 2),
    defaults=(CELLS["default"],),
    hints=(),
)


def kept(monkeypatch: pytest.MonkeyPatch, values: Mapping[str, float | None]) -> TuningRows:
    """Return the rows of a search whose rows have these accuracies; one without any failed."""

    def checked(_request: RunRequest, groups: tuple[PlannedGroup, ...], *_: object) -> tuple[PlannedGroup, ...]:
        (planned,) = groups
        found = {cell: None if value is None else Accuracy(value, LIMIT, 100) for cell, value in values.items()}
        cells = tuple(replace(cell, accuracy=found[cell.id]) for cell in planned.group.cells)
        out = {cell: Failure("accuracy", "why") for cell, own in found.items() if own is None or own.value < 0.99}
        return (replace(planned, group=replace(planned.group, cells=cells), absent=out),)

    monkeypatch.setattr(accuracy, "with_accuracy", checked)
    return within_accuracy(ROWS, Path(), lambda _line: None)


def test_settings_that_miss_the_limit_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = kept(monkeypatch, {"fp32": 1.0, "bf16": 0.98, "int8": 0.7, "default": 1.0})
    assert rows.space.ids == ("fp32",)
    assert [cell.accuracy.value for cell in rows.space.cells if cell.accuracy is not None] == [1.0]
    assert [cell.id for cell in rows.defaults] == ["default"]


def test_the_best_of_what_is_not_searched_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = excluded(kept(monkeypatch, {"fp32": 1.0, "bf16": 0.98, "int8": None, "default": 1.0}))
    assert found is not None
    assert (found.settings, found.combinations, found.failed) == (2, 2, 1)
    assert found.best is not None
    assert (found.best.row, found.best.accuracy) == ("bf16", 0.98)


def test_nothing_is_excluded_without_a_limit() -> None:
    free = replace(ROWS, request=replace(ROWS.request, accuracy=None))
    assert within_accuracy(free, Path(), lambda _line: None) is free
    assert excluded(free) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"fp32": 1.0, "bf16": 1.0, "int8": 1.0, "default": 0.9}, "default without any option has 90 %"),
        ({"fp32": 1.0, "bf16": 1.0, "int8": 1.0, "default": None}, "why"),
        ({"fp32": 0.9, "bf16": 0.9, "int8": 0.9, "default": 1.0}, "No setting keeps top-1 agreement at least 99 %"),
    ],
    ids=["the default misses it", "the default fails", "every setting misses it"],
)
def test_a_limit_that_leaves_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, values: Mapping[str, float | None], said: str
) -> None:
    with pytest.raises(IrbenchError, match=said):
        kept(monkeypatch, values)
