"""The title of a page is one plain sentence: which row is faster, how many times, or that none is clearly faster."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from documents import cell, example, failed, group, speedup

from irbench.core.result import GroupResult, Lead, NoWinner
from irbench.core.row import Generated, Spans
from irbench.render.plain_answer import is_of_ratio, plain_details, plain_headline, recommendation
from irbench.spec import Accuracy, AccuracyLimit, Goal, LossCheck


def two(lead: Lead | None = None, **changes: object):
    ort = cell("ort", 30.0, speedup=speedup(1.40, 1.35, 1.45, verified=True))
    lead = lead or Lead(ort.id, "tf/fp32", 1.40, 6, low=1.35, high=1.45)
    return group(ort, cell("tf", 42.0), lead=lead, **changes)


def test_the_fastest_row_is_compared_with_the_baseline():
    assert plain_headline(example()) == "openvino runs resnet50 1.31 times as fast as tf"


def test_a_baseline_that_wins_is_compared_with_the_next_row():
    slower = cell("ort", 50.0, speedup=speedup(0.84, 0.8, 0.9, "slower"))
    tf = cell("tf", 42.0)
    lead = Lead(tf.id, slower.id, 1.19, 6, low=1.11, high=1.25)
    assert plain_headline(group(tf, slower, baseline=tf.id, lead=lead)) == "tf runs resnet50 1.19 times as fast as ort"


def test_precisions_are_named_where_rows_differ_in_them():
    openvino = cell("openvino", 10.0, precision="int8", speedup=speedup(3.6, 3.5, 3.7))
    tf = cell("tf", 36.0)
    table = group(openvino, tf, lead=Lead(openvino.id, tf.id, 3.6, 6, low=3.5, high=3.7), goal=Goal("fps"))
    assert plain_headline(table) == (
        "openvino in int8 processes 3.60 times as many samples of resnet50 per second as tf in fp32"
    )


@pytest.mark.parametrize("reason", get_args(NoWinner))
def test_where_no_row_wins_the_title_says_so_without_brackets(reason: NoWinner):
    ends = {"range_low": 0.99, "range_high": 1.013} if reason == "preview" else {"low": 0.99, "high": 1.013}
    said = plain_headline(two(Lead("ort/fp32", "tf/fp32", 1.01, 6, reason=reason, **ends)))
    assert said.startswith("No row is clearly faster: ")
    assert not set(said) & set("()[]{}")


def test_rows_that_are_the_same_have_a_bound_of_their_difference():
    table = two(Lead("ort/fp32", "tf/fp32", 1.0, 6, reason="same", low=0.99, high=1.013))
    assert plain_headline(table) == "No row is clearly faster: ort and tf are within 1.3 % of each other"


def test_a_busy_machine_is_a_part_of_the_title():
    assert plain_headline(two(condition="busy")).endswith(" as fast as tf on a busy machine")


def test_the_title_of_a_single_row_is_how_fast_it_is():
    ort = cell("ort", 37.0, fps=26.5)
    assert plain_headline(group(ort)) == "ort runs resnet50 in 37.0 ms"
    assert plain_headline(group(ort, goal=Goal("fps"))) == "ort processes 26.5 samples of resnet50 per second"
    texts = replace(ort, generation=Generated(16, 8, None, None, Spans(480.0)))
    assert plain_headline(group(texts)) == "ort generates 480 tokens per second with resnet50"
    trained = replace(ort, loss=LossCheck((2.3, 2.0), 2.3, 2.0))
    assert plain_headline(group(trained)) == "ort trains resnet50 on 26.5 samples per second"


def test_a_table_that_compares_nothing_has_no_title():
    assert plain_headline(group(cell("ort"), cell("tf"))) == ""
    assert plain_headline(group(failed("ort"))) == ""


def details(table: GroupResult) -> list[str]:
    return list(plain_details(table, 0.95))


def test_the_interval_is_that_of_the_ratio_in_the_title():
    assert details(two()) == ["Between 1.35 and 1.45 times, with 95 % confidence."]


def test_a_fastest_row_that_is_compared_with_the_baseline_has_its_lead_over_the_next_row():
    own, next_row = details(example())
    assert own == "Between 1.29 and 1.33 times, with 95 % confidence."
    assert next_row == (
        "ort comes next: openvino is 1.14 times as fast as ort, between 1.12 and 1.16 times, with 95 % confidence over"
        " 6 launches."
    )


def test_a_range_of_few_launches_is_no_interval():
    table = two()
    ort = replace(table.cells[0], speedup=speedup(1.4, 1.3, 1.5, "preview", launches=2))
    lead = Lead(ort.id, "tf/fp32", 1.4, 2, reason="preview", range_low=1.3, range_high=1.5)
    (said,) = details(replace(table, cells=(ort, table.cells[1]), lead=lead))
    assert said == (
        "ort is 1.40 times as fast as tf, between 1.30 and 1.50 times over 2 launches, which are too few for a"
        " confidence interval."
    )


def test_what_no_interval_is_known_of_after_one_launch_is_said_without_one():
    (said,) = details(two(Lead("ort/fp32", "tf/fp32", 1.4, 1, reason="preview")))
    assert said == "ort is 1.40 times as fast as tf after 1 launch."


def test_on_a_busy_machine_the_details_do_not_repeat_the_title_and_say_how_much_was_disturbed():
    lead = Lead("ort/fp32", "tf/fp32", 1.01, 6, reason="undecided", low=0.9, high=1.1)
    said = details(two(lead, condition="busy", blocks_disturbed=31))
    assert said == [
        "ort is 1.01 times as fast as tf, between 0.90 and 1.10 times, with 95 % confidence over 6 launches.",
        "Other programs disturbed 31 of 48 blocks, so a quiet machine may differ.",
    ]


def test_details_of_a_table_by_cost_are_of_processor_time():
    lead = Lead("ort/fp32", "tf/fp32", 1.4, 1, reason="preview")
    (said,) = details(two(lead, goal=Goal("cost")))
    assert said == "tf needs 1.40 times the processor time per sample of ort after 1 launch."


@pytest.mark.parametrize("reason", sorted({*get_args(NoWinner)} - {"same", "undecided", "preview"}))
def test_other_reasons_are_left_to_the_headline_of_the_table(reason: NoWinner):
    table = two(Lead("ort/fp32", "tf/fp32", 1.01, 6, reason=reason, low=0.99, high=1.013))
    assert not is_of_ratio(table)
    assert details(table) == []


def test_the_recommended_row_has_its_accuracy_and_memory_against_the_baseline():
    table = two()
    limit = AccuracyLimit(0.9)
    ort = replace(
        table.cells[0],
        accuracy=Accuracy(0.992, limit, 100),
        peak_memory_bytes={"process": 660_000_000},
    )
    tf = replace(table.cells[1], accuracy=Accuracy(1.0, limit, 100))
    assert list(recommendation(replace(table, cells=(ort, tf)))) == [
        "Use ort in fp32, with batch 1 and 2 threads.",
        "Accuracy: top-1 agreement 99.2 % against 100 % of tf.",
        "Peak memory: 660.0 MB against 330.0 MB of tf, 100 % more.",
    ]


def test_of_rows_that_are_the_same_either_is_recommended():
    first, *_ = recommendation(two(Lead("ort/fp32", "tf/fp32", 1.0, 6, reason="same", low=0.99, high=1.013)))
    assert first == "Use ort or tf: the difference in speed does not matter."


def test_nothing_is_recommended_while_rows_cannot_be_distinguished():
    (only,) = recommendation(two(Lead("ort/fp32", "tf/fp32", 1.0, 6, reason="undecided", low=0.9, high=1.2)))
    assert "No row can be recommended yet" in only
