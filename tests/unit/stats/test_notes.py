"""What is said below a table follows from the figures in it."""

from launches import MS, even, group, launch, measured, synchronous

from irbench.spec import Timing
from irbench.stats import Admission, summarise


def noted(asked, records):
    return summarise(asked, records, Timing(), Admission(), stopped_by="interrupt", seconds=60.0).notes


def test_a_preview_names_no_leader_whose_direct_ratio_says_the_opposite():
    blocks = {"a": (30, 12, 15), "b": (12, 12, 20), "c": (15, 10, 20)}
    told = [measured(cell, [synchronous(at, [ms * MS] * 3) for at, ms in enumerate(of)]) for cell, of in blocks.items()]
    notes = noted(group("a", "b", "c"), [launch(0, told)])
    assert notes == ("preview: c and b cannot be told apart, 0.99x in the only launch",)


def test_a_preview_of_one_launch_names_the_leader():
    notes = noted(group("a", "b"), even({"a": [10.0], "b": [5.0]}))
    assert notes == ("preview: b 2.00x a in the only launch, which gives no range",)
