"""Results as text: sentences name options as Python does, and cells of tables stay what they are."""

from __future__ import annotations

import logging

import pytest

from irbench.api.display import Displayable
from irbench.api.progress import reporting
from irbench.features.optimize.options import OPTIMIZE
from irbench.options.run import RUN
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.views import PlainView

CELL = "ort --batch 4"


class Result(Displayable):
    def __rich__(self) -> PlainView:
        columns = (TableColumn("setting", words=True), TableColumn("p50 ms"))
        table = TextTable(columns, (Row((CELL, "1.00")), Row(("openvino --batch 16", "12.00"))))
        return PlainView("one table", "Warm up for longer: --warmup 10s", table, ("use --streams 1",))


def test_sentences_are_python_s_and_cells_stay_in_their_columns():
    text = str(Result())
    assert 'warmup="10s"' in text
    assert "streams=1" in text
    rows = [line for line in text.splitlines() if " --batch " in line]
    assert len(rows) == 2
    assert len({len(row) for row in rows}) == 1


@pytest.mark.parametrize(("command", "said"), [(RUN, "budget=60"), (OPTIMIZE, "--budget 60"), (None, "--budget 60")])
def test_progress_names_the_keywords_of_the_function_that_was_called(
    command: object, said: str, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.INFO, logger="irbench"), reporting(None, command) as reporter:  # type: ignore[arg-type]
        reporter.say("give --budget 60")
    assert caplog.messages == [f"give {said}"]
