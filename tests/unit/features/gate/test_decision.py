"""What the launches of a gate decide, and when it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import launches as made
import pytest
from documents import cell, failed
from scripted_machine import Machine, result_of

from irbench.across_runs.texts import checked_text
from irbench.core.record import Failure, LaunchRecord
from irbench.core.result import GroupResult, UnevenLoad
from irbench.features.gate.decision import GatedRow, GatedTable, UntilDecided, _without_figures, gated_rows
from irbench.features.gate.report import GateReport
from irbench.features.gate.run import TIMING as GATE_TIMING
from irbench.features.gate.run import needed_budget_s
from irbench.features.gate.sides import Pair, Side, Sides
from irbench.features.gate.view import gate_view
from irbench.notices.warnings import TooFewLaunches
from irbench.options.conditions import read_condition
from irbench.runner.plan import PlannedGroup
from irbench.spec import Group
from irbench.stats.eligibility import Admission
from irbench.stats.stopping_rule import Next, Pace
from irbench.stats.summary import summarise

TIMING = replace(GATE_TIMING, burn_in_blocks=0, budget=100.0)
EVEN = (10.0, 10.1, 9.9, 10.05, 9.95, 10.02)
LIMIT = read_condition("time>5%")
PAIR = Pair("old", "new")


def times(factor: float, count: int = 6) -> tuple[float, ...]:
    return tuple(factor * value for value in EVEN[:count])


def judged(
    new: Sequence[float],
    *conditions: str,
    base: Sequence[float] = EVEN,
    records: Sequence[LaunchRecord] = (),
    **table: object,
) -> GatedRow:
    """Return what launches of these milliseconds say of the newer row."""
    group = made.group("old", "new")
    records = records or made.even({"old": base, "new": new})
    found = summarise(group, records, TIMING, Admission(), stopped_by="target", seconds=1.0)
    gated = GatedTable(group, replace(found, **table), records, TIMING)  # type: ignore[arg-type]
    (row,) = gated_rows(gated, [PAIR], [read_condition(text) for text in conditions or ("time>5%",)])
    return row


@pytest.mark.parametrize(
    ("factor", "outcome"),
    [(1.0, "passed"), (0.5, "passed"), (1.03, "passed"), (1.1, "regression")],
)
def test_what_is_slower_by_the_limit_regressed_and_what_excludes_it_passes(factor: float, outcome: str):
    assert judged(times(factor)).outcome == outcome


def rows_of(*news: Sequence[float]) -> tuple[GatedRow, ...]:
    """Return what launches of these milliseconds say of several newer rows, each with an equal older one."""
    pairs = [Pair(f"old{place}", f"new{place}") for place in range(len(news))]
    group = made.group(*(name for pair in pairs for name in (pair.base, pair.new)))
    levels = {pair.base: EVEN for pair in pairs} | {pair.new: new for pair, new in zip(pairs, news, strict=True)}
    records = made.even(levels)
    table = summarise(group, records, TIMING, Admission(), stopped_by="target", seconds=1.0)
    return gated_rows(GatedTable(group, table, records, TIMING), pairs, [LIMIT])


SCATTERED = tuple(value * share for value, share in zip(EVEN, (1.0, 0.98, 1.03, 0.97, 1.02, 1.01), strict=True))
SLOWER = tuple(1.055 * value for value in SCATTERED)


def test_a_row_passes_by_its_own_interval_however_many_others_there_are():
    assert rows_of(SCATTERED)[0].outcome == "passed"
    assert {row.outcome for row in rows_of(*[SCATTERED] * 8)} == {"passed"}


def test_a_regression_of_one_of_many_rows_is_one_after_holms_correction_only():
    assert rows_of(SLOWER)[0].outcome == "regression"
    first, *others = rows_of(SLOWER, *[EVEN] * 7)
    assert first.outcome == "undecided"
    assert {row.outcome for row in others} == {"passed"}
    assert first.conditions[0].is_significant_alone
    assert "not significant after Holm's correction" in checked_text("ort", first.conditions[0])


def test_an_interval_around_the_limit_decides_nothing_and_wants_more_launches():
    row = judged((9.0, 12.0, 10.0, 11.5, 9.5, 12.5))
    assert (row.outcome, row.needs_launches) == ("undecided", True)


def test_a_slowdown_that_is_sure_and_smaller_than_the_limit_is_no_regression():
    row = judged(times(1.04))
    assert row.time is not None
    assert row.time.relative is not None
    assert row.time.relative.low > 0
    assert row.outcome == "passed"


def test_drift_that_both_met_decides_nothing():
    drifting = (10.0, 14.0, 9.0, 16.0, 12.0, 20.0)
    assert judged(drifting, base=drifting).outcome == "passed"
    assert judged([1.1 * value for value in drifting], base=drifting).outcome == "regression"


def test_five_launches_decide_nothing():
    row = judged(times(2.0, 5), base=EVEN[:5])
    assert (row.outcome, row.needs_launches) == ("undecided", True)
    assert row.conditions[0].unjudged == "too-few"


def test_load_in_the_turns_of_one_row_is_no_regression():
    row = judged(times(2.0), uneven_load=UnevenLoad("new", "old", 1.0, 0.1))
    assert (row.outcome, row.conditions[0].unjudged) == ("undecided", "uneven-load")


def test_memory_and_times_to_get_ready_are_compared_launch_by_launch():
    def launch(number: int, peak: int, ready: int) -> LaunchRecord:
        rounds = [made.synchronous(block, [10 * made.MS] * 3) for block in range(5)]
        worse = {"peak_memory_bytes": {"process": peak}, "phases_ns": {"ready": ready * made.MS}}
        return made.launch(number, [made.measured("old", rounds), made.measured("new", rounds, **worse)])

    records = [launch(number, 1300, 22) for number in range(6)]
    asked = ("time>5%", "peak_memory>20%", "ready>50%", "size>0%")
    row = judged((), *asked, records=records)
    assert row.outcome == "regression"
    assert [(checked.condition, checked.is_met) for checked in row.conditions] == [
        ("time>5%", False),
        ("peak_memory>20%", True),
        ("ready>50%", True),
        ("size>0%", False),
    ]
    assert row.conditions[3].unjudged == "no-figure"


def test_a_figure_that_nobody_measured_is_no_pass_and_no_reason_to_go_on():
    row = judged(times(1.0), "time>5%", "energy>5%")
    assert (row.outcome, row.needs_launches) == ("undecided", False)


SIDES = Sides(Side("tiny", {"backend": "old"}), Side("tiny", {"backend": "new"}))


def following(
    levels: Mapping[str, Sequence[float]], *, seconds: float = 1.0, failures: Mapping[str, Failure] | None = None
) -> Next:
    group: Group = made.group("old", "new")
    records = made.even(levels) if levels else []
    admission = Admission(mismatches=failures or {})
    pace = Pace(seconds, [1.0] * len(records))
    return UntilDecided(SIDES, (LIMIT,)).following(group, records, TIMING, admission, pace)


def test_both_rows_are_launched_until_it_is_decided():
    wide = (9.0, 12.0, 10.0, 11.5, 9.5, 12.5)
    assert following({}).cells == ("old", "new")
    assert following({"old": EVEN[:3], "new": times(1.0, 3)}).cells == ("old", "new")
    assert following({"old": EVEN, "new": wide}).cells == ("old", "new")
    assert following({"old": EVEN, "new": times(1.0)}).stopped_by == "target"
    assert following({"old": EVEN, "new": times(1.1)}).stopped_by == "target"


def test_no_launch_begins_that_would_end_after_the_budget():
    wide = (9.0, 12.0, 10.0, 11.5, 9.5, 12.5)
    assert following({"old": EVEN, "new": wide}, seconds=99.5).stopped_by == "budget"
    most = [value for _ in range(8) for value in wide][: TIMING.max_launches]
    assert following({"old": [10.0] * len(most), "new": most}).stopped_by == "launches"


def test_it_ends_after_two_launches_if_the_launches_of_an_interval_do_not_fit():
    levels = {"old": EVEN[:2], "new": times(1.0, 2)}
    assert following(levels, seconds=2.0).cells == ("old", "new")
    assert following(levels, seconds=96.5).stopped_by == "budget"
    one = {"old": EVEN[:1], "new": times(1.0, 1)}
    assert following(one, seconds=96.5).cells == ("old", "new")


FOUR = tuple(Pair(f"old{place}", f"new{place}") for place in range(4))
CELLS = tuple(row for pair in FOUR for row in (pair.base, pair.new))


@dataclass(frozen=True)
class FourPairs(Sides):
    """Sides whose rows belong together by their ids."""

    def pairs_of(self, _group: Group) -> tuple[Pair, ...]:
        return FOUR


UNTIL_FOUR = UntilDecided(FourPairs(Side("old"), Side("new")), (LIMIT,))


def following_of_four(parts: Sequence[Sequence[int]], *, seconds: float, broken: Sequence[int] = ()) -> Next:
    """Return what follows launches of these pairs, each of which takes a second per pair."""
    records = made.in_parts([dict.fromkeys(_rows(part), 10.0) for part in parts])
    records[0] = replace(records[0], failures=dict.fromkeys(_rows(broken), Failure("load", "nobody knows Foo")))
    pace = Pace(seconds, [float(len(part)) for part in parts])
    return UNTIL_FOUR.following(made.group(*CELLS), records, TIMING, Admission(), pace)


def _rows(places: Sequence[int]) -> list[str]:
    return [row for place in places for row in (f"old{place}", f"new{place}")]


def test_four_pairs_need_eight_launches_of_three():
    three = [(0, 1, 2), (3, 0, 1), (2, 3, 0)]
    assert following_of_four(three, seconds=84.5).stopped_by is None  # 15 launches of a pair are left: 13 to 15 s
    assert following_of_four(three, seconds=88.5).stopped_by == "budget"


def test_pairs_that_failed_need_no_launches():
    both = [(0, 1), (0, 1)]
    assert following_of_four(both, seconds=92.0, broken=(2, 3)).stopped_by is None
    assert following_of_four(both, seconds=94.0, broken=(2, 3)).stopped_by == "budget"


def test_one_pair_that_is_left_has_a_launch_of_its_own_each_time():
    one = [(0,), (0,)]
    assert following_of_four(one, seconds=97.0, broken=(1, 2, 3)).stopped_by == "budget"


def test_while_launches_have_new_rows_nobody_knows_what_one_costs():
    assert following_of_four([(0, 1, 2), (3, 0, 1)], seconds=90.0).stopped_by is None
    assert following_of_four([(0, 1, 2), (3, 0, 1)], seconds=98.0).stopped_by == "budget"


def four_pairs(budget_s: float, folder: Path, monkeypatch: pytest.MonkeyPatch) -> GroupResult:
    machine = Machine(dict.fromkeys(CELLS, 1.0), dict.fromkeys(CELLS, 0.02))
    folder.mkdir()
    timing = replace(GATE_TIMING, budget=budget_s)
    return result_of(machine, timing, folder, monkeypatch, schedule=UNTIL_FOUR)[0]


@pytest.mark.ci
@pytest.mark.parametrize("budget_s", [25.0, 40.0])
def test_the_budget_that_a_gate_advises_decides_four_pairs(
    budget_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    short = four_pairs(budget_s, tmp_path / "short", monkeypatch)
    (needed_s,) = [warning.needed_s for warning in short.warnings if isinstance(warning, TooFewLaunches)]
    assert four_pairs(needed_s, tmp_path / "enough", monkeypatch).stopped_by == "target"


def test_a_budget_that_is_too_short_is_shown_with_the_one_that_is_needed():
    row = judged(times(1.0, 2), base=EVEN[:2])
    report = GateReport("a", "b", 0.05, ("time>5%",), (row,), "01", False, False, 9.0, ("budget",), 0.95, 44)
    shown = gate_view(report)
    assert shown.headline == "Not decided: too few launches fit into the budget, stopped after 9 s."
    (warning,) = shown.warnings
    assert "need about --budget 44s" in warning
    unmeasured = GatedRow("tf", "tf-old", "tf-new", "not-measured", failure=Failure("load", "nobody knows Foo"))
    assert gate_view(replace(report, rows=(row, unmeasured))).headline == (
        "Not decided in 2 of 2 rows: tf was not measured and too few launches fit into the budget, stopped after 9 s."
    )
    assert gate_view(replace(report, rows=(unmeasured,))).headline == "Not decided: tf was not measured."


def test_tables_that_share_a_budget_need_one_in_which_the_share_of_each_suffices():
    group = made.group("old", "new")
    timing = TIMING.within_budget(40.0, 30.0)
    records = made.even({"old": EVEN[:2], "new": EVEN[:2]})
    short, longer = (
        summarise(group, records, timing, Admission(), stopped_by="budget", seconds=seconds) for seconds in (10.0, 20.0)
    )
    planned = PlannedGroup(group)
    assert needed_budget_s([planned], [short]) == 30 + 33
    assert needed_budget_s([planned] * 2, [short, short]) == 30 + 2 * 33
    assert needed_budget_s([planned] * 2, [short, longer]) == 30 + 2 * 66
    assert needed_budget_s([planned], [replace(short, warnings=())]) is None


def test_the_upper_end_above_which_slowdowns_are_excluded_is_rounded_up():
    row = judged(times(1.0))
    (checked,) = row.conditions
    assert checked.change is not None
    assert checked.change.relative is not None
    relative = replace(checked.change.relative, low=-0.0012, value=0.02, high=0.0414)
    row = replace(row, conditions=(replace(checked, change=replace(checked.change, relative=relative)),))
    report = GateReport("a", "b", 0.05, ("time>5%",), (row,), "01", False, False, 1.0, ("target",), 0.95)
    shown = gate_view(report)
    assert shown.headline == "No regression: slowdowns above 4.2 % are excluded (95 % confidence)."
    assert "[-0.2 %, +4.2 %]" in shown.as_markdown()


def test_wrong_outputs_end_it_at_once():
    wrong = {"new": Failure("verify", "its outputs are wrong")}
    assert following({"old": EVEN[:1], "new": times(1.0, 1)}, failures=wrong).stopped_by == "target"
    both = {**wrong, "old": Failure("verify", "its outputs are wrong")}
    assert following({"old": EVEN[:1], "new": times(1.0, 1)}, failures=both).stopped_by == "failures"


def test_what_fails_only_on_the_new_side_is_a_regression():
    row = _without_figures("ort", PAIR, cell("old"), failed("new", failure=Failure("load", "nobody knows Foo")))
    assert row.outcome == "failed"
    report = GateReport("a", "b", 0.05, ("time>5%",), (row,), "01", False, False, 1.0, ("target",), 0.95)
    assert report.outcome == "regression"
    assert "ort fails (nobody knows Foo)" in gate_view(report).headline
    assert _without_figures("ort", PAIR, failed("old"), failed("new")).outcome == "not-measured"


def test_a_change_that_is_not_judged_excludes_no_slowdown():
    row = judged(times(1.0), uneven_load=UnevenLoad("new", "old", 1.0, 0.1))
    report = GateReport("a", "b", 0.05, ("time>5%",), (row,), "01", False, False, 1.0, ("budget",), 0.95)
    assert report.excluded_above is None
    assert replace(report, rows=(judged(times(1.0)),)).excluded_above is not None
    faster = gate_view(replace(report, rows=(judged(times(0.5)),)))
    assert faster.headline == "No regression: any slowdown is excluded (95 % confidence)."
    ended = replace(report, stopped_by=("target",))
    assert gate_view(ended).headline == "Not decided: a condition could not be judged after 1 s."
