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
            Outlook("ort", 1.107, 0.003, intervals_from=4),
            "ort leads, 1.11x its nearest rival so far, intervals after 4 launches of each row",
        ),
        (
            Outlook("ort", 1.107, 4.25, intervals_from=4),
            "ort leads, 1.11x its nearest rival so far, intervals after 4 launches of each row",
        ),
        (Outlook("ort", None, 0.003, intervals_from=4), "intervals after 4 launches of each row"),
        (
            Outlook("ort", 1.107, 4.25, target=0.01),
            "ort leads, 1.11x its nearest rival so far, the interval is still wider than ±50 %, target ±1.0 %",
        ),
        (Outlook("ort", 1.02, 0.3, target=0.01), "ort leads, 1.02x its nearest rival ±30.0 %, target ±1.0 %"),
        (Outlook("ort", 1.111, 0.0, target=0.01, rows_left=0), "ort leads, 1.11x its nearest rival ±0.0 %: decided"),
        (Outlook("ort", 1.111, 0.02, target=0.01), "ort leads, 1.11x its nearest rival ±2.0 %, target ±1.0 %"),
        (
            Outlook("ort", 1.1, 0.02, target=0.01, rows_left=2),
            "ort leads, 1.10x its nearest rival ±2.0 %, target ±1.0 %, 2 rows left",
        ),
        (
            Outlook("ov", 1.552, 0.2, target=0.04, is_as_loaded=True),
            "ov leads, 1.55x its nearest rival ±20.0 % on this busy machine, target ±4.0 %",
        ),
        (
            Outlook("ov", 1.552, 0.0, intervals_from=4, is_as_loaded=True),
            "ov leads, 1.55x its nearest rival so far on this busy machine, intervals after 4 launches of each row",
        ),
        (
            Outlook("ort", 1.048, 0.01, target=0.01, quiet_launches=(4, 12), rows_left=0),
            "ort leads, 1.05x its nearest rival ±1.0 % in undisturbed blocks (4 of 12 launches): decided",
        ),
        (
            Outlook("ort", 1.048, 0.01, 0.01, rows_left=0, quiet_launches=(4, 12), contradicted_by=("ov", 1.55)),
            (
                "ort leads, 1.05x its nearest rival ±1.0 % in undisturbed blocks (4 of 12 launches),"
                " but ov is 1.55x as fast as ort over all blocks: contradictory"
            ),
        ),
        (
            Outlook("ov", 1.55, 0.1, 0.01, is_as_loaded=True, contradicted_by=("ort", 1.05)),
            (
                "ov leads, 1.55x its nearest rival ±10.0 % on this busy machine,"
                " but ort is 1.05x as fast as ov in undisturbed blocks, target ±1.0 %"
            ),
        ),
    ],
)
def test_the_outlook_says_who_leads_and_how_well_that_is_known(outlook: Outlook | None, said: str):
    assert outlook_text(outlook) == said
