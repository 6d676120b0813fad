"""What goes on is said in a few words."""

from __future__ import annotations

from typing import get_args

import pytest

from irbench.core.activity import Activity, ActivityCode, Outlook
from irbench.render.progress_texts import activity_text, outlook_text


def test_every_activity_has_its_words(subtests: pytest.Subtests):
    for code in get_args(ActivityCode):
        with subtests.test(code=code):
            said = activity_text(Activity(code, row="ort", block=3, clean_blocks=8))
            assert said
            assert "{" not in said


def test_a_row_is_named_where_it_is_its_turn():
    assert activity_text(Activity("warm-up", "ort x4")) == "warming up ort x4"
    assert activity_text(Activity("block", block=3, clean_blocks=8)) == "block 3, 8 undisturbed ones needed"


@pytest.mark.parametrize(
    ("outlook", "said"),
    [
        (None, ""),
        (
            Outlook("ort", 0.107, 0.003, intervals_from=4),
            "ort leads by 10.7 % so far, intervals after 4 launches of each row",
        ),
        (
            Outlook("ort", 0.107, 4.25, intervals_from=4),
            "ort leads by 10.7 % so far, intervals after 4 launches of each row",
        ),
        (Outlook("ort", None, 0.003, intervals_from=4), "intervals after 4 launches of each row"),
        (
            Outlook("ort", 0.107, 4.25, target=0.01),
            "ort leads by 10.7 % so far, the interval is still wider than ±50 %, target ±1.0 %",
        ),
        (Outlook("ort", 0.02, 0.3, target=0.01), "ort leads by 2.0 % ±30.0 %, target ±1.0 %"),
        (Outlook("ort", 0.111, 0.0, target=0.01, rows_left=0), "ort leads by 11.1 % ±0.0 %: decided"),
        (Outlook("ort", 0.111, 0.02, target=0.01), "ort leads by 11.1 % ±2.0 %, target ±1.0 %"),
        (Outlook("ort", 0.1, 0.02, target=0.01, rows_left=2), "ort leads by 10.0 % ±2.0 %, target ±1.0 %, 2 rows left"),
    ],
)
def test_the_outlook_says_who_leads_and_how_well_that_is_known(outlook: Outlook | None, said: str):
    assert outlook_text(outlook) == said
