"""What a converted graph falls short in, in words."""

import pytest

from irbench.notices.conversions import disagreement_text, missed_limit_text
from irbench.spec import Disagreement


@pytest.mark.parametrize(
    ("found", "brief", "with_limit"),
    [
        (Disagreement("top1-agreement", 0.63, 0.9), "top-1 agreement 63 %", "top-1 agreement 63 %, below 90 %"),
        (
            Disagreement("top1-agreement", 0.8999, 0.9),
            "top-1 agreement 90 %",
            "top-1 agreement 89.99 %, below 90 %",
        ),
        (Disagreement("max-rel", 0.2004, 0.2), "max err 0.2 against fp32", "max err 0.2004, above 0.2"),
        (Disagreement("max-rel", 0.5, 0.2), "max err 0.5 against fp32", "max err 0.5, above 0.2"),
        (
            Disagreement("top1-agreement", 0.63, 0.9, samples=64, source="generated"),
            "top-1 agreement 63 % on 64 generated inputs",
            "top-1 agreement 63 % on 64 generated inputs, below 90 %",
        ),
        (
            Disagreement("max-rel", 0.5, 0.2, samples=1, source="data"),
            "max err 0.5 against fp32 on 1 sample of data",
            "max err 0.5 on 1 sample of data, above 0.2",
        ),
    ],
)
def test_what_was_measured_is_said_alone_and_with_the_limit_it_misses(found: Disagreement, brief: str, with_limit: str):
    assert (disagreement_text(found), missed_limit_text(found)) == (brief, with_limit)
