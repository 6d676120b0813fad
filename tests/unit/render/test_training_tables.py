"""Tables of training steps, as people read them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from training_steps import cell, row, table

from irbench.render.speed_table import group_table
from irbench.render.tables_below import tables_below
from irbench.render.training_tables import effect_table, fall_text, loss_line, step_legend, step_table
from irbench.stats.run_modes.training import loss_check

TWO = table([(cell(32, xla="off"), (5.0, 15.0)), (cell(32, xla="on"), (5.0, 5.0))])
FOUR = table([
    (cell(32, xla=xla, prefetch=ahead), (5.0, 15.0)) for xla in ("off", "on") for ahead in ("0", "1")
])  # fmt: skip
ONE = table([(cell(32), (5.0, 10.0))])


def test_input_compute_and_step_stand_side_by_side_with_their_intervals() -> None:
    shown = step_table(TWO)
    assert shown is not None
    headings = [column.heading for column in shown.columns]
    assert [heading.partition(" ms")[0] for heading in headings[1:4]] == ["step", "input", "compute"]
    slow = next(line for line in shown.rows if "xla=off" in line.cells[0])
    assert [text.partition(" ")[0] for text in slow.cells[1:4]] == ["20.0", "5.00", "15.0"]
    assert all("[" in text for text in slow.cells[1:4])


def test_an_effect_names_the_value_and_what_it_is_instead_of() -> None:
    shown = effect_table(TWO)
    assert shown is not None
    (line,) = shown.rows
    assert line.cells[:2] == ("xla=on", "off")
    assert line.cells[2].startswith("2.000")


def test_steps_have_no_outputs_whose_error_a_table_could_show() -> None:
    assert "max err" not in [column.heading for column in group_table(TWO).columns]


def test_without_settings_that_vary_there_are_no_effects() -> None:
    assert effect_table(ONE) is None
    assert len(tables_below(ONE)) == 1
    assert len(tables_below(TWO)) == 2


def test_the_legend_explains_what_is_shown() -> None:
    (effects,) = (sentence for sentence in step_legend(TWO) if "effects" in sentence)
    (of_two_settings,) = (sentence for sentence in step_legend(FOUR) if "effects" in sentence)
    assert "other settings" not in effects
    assert "other settings" in of_two_settings
    assert not any("effects" in sentence for sentence in step_legend(ONE))


def test_effects_that_rows_do_not_determine_are_counted_and_not_explained() -> None:
    two_of_four = table([
        (cell(32, xla=value, prefetch=ahead), (5.0, 15.0)) for value, ahead in (("off", "0"), ("on", "1"))
    ])  # fmt: skip
    legend = " ".join(step_legend(two_of_four))
    assert "cannot be told" in legend
    assert "ratios" not in legend
    assert "assumed" not in legend
    assert row(1.0, 2.0).stages


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ([5.0, 5.0, 4.0, 4.0, 4.0, 4.0, 4.9, 1.1], ("falls by 2.0", "5.00 to 3.00", "scatters", "8.06")),
        ([1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0], ("does not fall", "1.00 to 3.00")),
        ([2.0] * 8, ("does not fall", "2.00 to 2.00")),
        ([2.0, 1.0, math.nan], ("not a number after 3 steps",)),
    ],
)
def test_why_a_loss_counts_as_not_falling_says_what_it_did(losses: list[float], said: tuple[str, ...]) -> None:
    text = fall_text(loss_check(losses))
    assert [each for each in said if each not in text] == []
    assert ("does not fall" in text) == ("does not fall" in said)


def test_a_metric_other_than_the_loss_is_called_by_its_name_wherever_its_fall_is_shown() -> None:
    rising = loss_check([1.0] * 4 + [2.0] * 4, "d_loss")
    assert fall_text(rising) == "d_loss does not fall: 1.00 to 2.00 in 8 steps"
    assert loss_line(replace(cell(32), loss=rising), rising, 8).endswith("d_loss 1.00 to 2.00 in 8 steps")
    renamed = replace(ONE, cells=tuple(replace(row, loss=rising) for row in ONE.cells))
    shown = step_table(renamed)
    assert shown is not None
    assert shown.columns[-1].heading == "d_loss"
    assert any("d_loss: mean of" in sentence for sentence in step_legend(renamed))


@pytest.mark.parametrize(
    ("alone_ms", "marked"),
    [
        ((1.0, 3.0, 7.0, 8.0), []),
        ((1.0, 3.0, 9.0, 8.0), ["optimizer"]),
        ((1.0, 13.0, 17.0, 18.0), ["forward", "backward", "beside"]),
    ],
)
def test_parts_of_a_step_that_cannot_be_are_marked_and_the_mark_is_explained(
    alone_ms: tuple[float, ...], marked: list[str]
) -> None:
    result = table([(cell(32), (5.0, 10.0)), (cell(64), (5.0, 10.0))], alone_ms, failing="64")
    shown = step_table(result)
    assert shown is not None
    headings = [column.heading.partition(" ms")[0] for column in shown.columns]
    cells = dict(zip(headings, shown.rows[0].cells, strict=True))
    assert [name for name, text in cells.items() if text.endswith("?")] == marked
    assert any(sentence.startswith("?: implausible") for sentence in step_legend(result)) == bool(marked)
