"""A table says how good outputs are where a limit was given."""

from __future__ import annotations

from dataclasses import replace

from documents import cell, failed, group

from irbench.core.record import Failure
from irbench.core.result import GroupResult
from irbench.render.group import GroupView
from irbench.spec import Accuracy, AccuracyLimit

LIMIT = AccuracyLimit(0.99)
GOOD = replace(cell("openvino", 32.5), accuracy=Accuracy(0.995, LIMIT, 200))
BAD = replace(
    failed("ort", failure=Failure("accuracy", "top-1 agreement 63 % is below 99 %"), state="mismatch"),
    accuracy=Accuracy(0.63, LIMIT, 200),
)


def shown(table: GroupResult) -> str:
    return "\n".join(line.plain for line in GroupView(table).as_lines(200))


def test_a_table_has_the_accuracy_of_its_rows_and_the_limit_below():
    text = shown(group(GOOD, BAD))
    (row,) = [line for line in text.splitlines() if line.startswith(" openvino")]
    assert "99.5 %" in row
    assert "mismatch: top-1 agreement 63 % is below 99 %" in text
    assert "accuracy: top-1 agreement at least 99 %" in text


def test_a_table_without_a_limit_says_nothing_of_accuracy():
    assert "accuracy" not in shown(group(cell("openvino", 32.5)))
