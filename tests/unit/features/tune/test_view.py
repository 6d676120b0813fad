"""What ``irbench tune`` prints: what is recommended, why, and code that nothing cuts."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, get_args

import pytest
from golden_files import check_golden
from rich.console import Console

from irbench.features.tune.report import (
    Alternative,
    BusyConfirmation,
    BusyRequests,
    ChangedCondition,
    Conclusion,
    Excluded,
    FewSettingsTried,
    Flip,
    FrontPoint,
    Gain,
    HeldRate,
    OtherBatch,
    Reservation,
    ReservationReason,
    RowFigures,
    TunedSetting,
    TuningReport,
    Unable,
)
from irbench.features.tune.search_progress import condition_text, measuring_flips_text, searched_text, searching_text
from irbench.features.tune.view import (
    flip_map_parts,
    flip_map_sentence,
    recommendation_texts,
    tuning_view,
)
from irbench.render.accuracy_texts import accuracy_text, limit_text
from irbench.render.table import TextTable
from irbench.spec import AccuracyLimit
from irbench.spec.serving import ServiceLevel

FOUND = TunedSetting("found", "openvino+extended 2x1", "openvino", 4, 1, 1, 2, "fp32", optimize="extended")
DEFAULT = TunedSetting("default", "openvino", "openvino", 1, None, 1, 1, "fp32")
CODE = "session = onnxruntime.InferenceSession('a-model-with-a-long-name.extended.onnx', options, providers=['CPU'])"
REPORT = TuningReport(
    "net.onnx",
    "fps",
    None,
    "better",
    FOUND,
    FOUND,
    (Alternative(DEFAULT, "default", Gain(1.26, low=1.13, high=1.42, is_preview=False)),),
    search_run="01S",
    confirmation_run="01C",
    command=("irbench", "run", "net.onnx", "--optimize", "extended" * 9),
    code=CODE,
    figures={"found": RowFigures(13.1, 305.4), "default": RowFigures(4.2, 239.1)},
    results="my results",
)


def shown(report: TuningReport, width: int) -> str:
    console = Console(width=width, no_color=True, color_system=None)
    with console.capture() as capture:
        console.print(tuning_view(report), highlight=False, crop=False)
    return capture.get()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_code_and_commands_are_whole_at_any_width(width: int):
    text = shown(REPORT, width)
    assert CODE in text
    assert "extended" * 9 in text


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_gain_and_its_interval_stay_at_any_width(width: int):
    assert "1.26x [1.13, 1.42]" in shown(REPORT, width)


def test_figures_of_the_confirmation_are_shown_where_there_is_room():
    text = shown(REPORT, 120)
    assert "305" in text
    assert "239" in text


def test_the_throughput_of_generations_is_in_tokens() -> None:
    front = (FrontPoint(DEFAULT, 4.2, 239.1, True), FrontPoint(FOUND, 13.1, 305.4, True))
    text = shown(replace(REPORT, new_tokens=64, front=front), 200)
    assert "FPS" not in text
    assert "frames" not in text
    assert "64 new tokens" in text
    assert "Time per generation against tokens/s" in text
    assert text.count("tokens/s") == 3
    assert (text.count(str(round(64 * 305.4))), text.count(str(round(64 * 239.1)))) == (2, 2)


def test_a_search_of_generations_is_for_tokens_unless_it_is_for_something_else() -> None:
    assert "tokens" in searched_text("fps", is_generation=True)
    assert searched_text("latency", is_generation=True) == "the shortest time per generation"


def test_training_is_in_samples_and_another_batch_is_no_shorter_training() -> None:
    training = replace(REPORT, is_training=True, notes=(OtherBatch(batch=128, default=32),))
    text = shown(training, 200)
    assert "samples/s" in text
    assert "frames" not in text
    assert "samples per second" in searched_text("fps", is_training=True)
    assert re.search("batch 128 .* batch 32: .* not mean a shorter time", text)


def test_the_runs_are_named_with_the_folder_that_holds_them():
    assert "irbench show 01C --results 'my results'" in shown(REPORT, 200)


PRELIMINARY = replace(REPORT, conclusion="doubtful", is_confirmed=False, reservations=(Reservation("busy", "default"),))


UNDECIDED = replace(
    PRELIMINARY,
    conclusion="undecided",
    reservations=(Reservation("interval-includes-1", "default"),),
    deciding_budget_s=420.0,
    notes=(
        FewSettingsTried(tried=5, settings=180, enough=40, budget_s=720.0),
        BusyConfirmation(disturbed=9, blocks=16),
    ),
)


def remedy(low: float | None, high: float | None, reason: ReservationReason = "interval-includes-1") -> str:
    gain = Gain(1.02, low=low, high=high, is_preview=False)
    undecided = replace(
        UNDECIDED,
        alternatives=(Alternative(DEFAULT, "default", gain),),
        reservations=(Reservation(reason, "default"),),
        deciding_budget_s=None,
        notes=(),
    )
    return list(recommendation_texts(undecided))[-1]


def test_a_difference_is_small_only_where_its_interval_says_so() -> None:
    assert "at most 4.2 %: more launches would hardly help" in remedy(0.96, 1.03)
    for wide in ((0.43, 2.73), (0.85, 1.01), (None, None)):
        text = remedy(*wide)
        assert "hardly help" not in text
        assert "unknown" in text
    assert "0.43x to 2.73x" in remedy(0.43, 2.73)


def test_rates_that_may_be_anything_are_not_close_either() -> None:
    assert "hardly help" in remedy(0.95, 1.05, "rates-close")
    assert "unknown" in remedy(0.4, 2.5, "rates-close")


PREVIEW = replace(
    REPORT,
    conclusion="preview",
    alternatives=(Alternative(DEFAULT, "default", Gain(1.26, low=None, high=None, is_preview=True)),),
)

SERVED = replace(
    REPORT,
    level=ServiceLevel(99, 50),
    held={"found": HeldRate(41.2, 40.0, 43.0), "default": HeldRate(20.1, 18.8, 21.0)},
    figures={},
    alternatives=(
        Alternative(DEFAULT, "default", Gain(2.05, low=1.9, high=2.29, is_preview=False)),
        Alternative(replace(DEFAULT, row="ort", label="ort", backend="ort"), "default", failure="It crashed."),
    ),
    is_confirmed=True,
)


X4 = TunedSetting("x4", "openvino x4", "openvino", 1, 1, 4, 1, "fp32")
HINT = TunedSetting("hint", "openvino x2 PERFORMANCE_HINT=THROUGHPUT", "openvino", 1, None, 2, 1, "fp32")
AS_GOOD = replace(
    REPORT,
    conclusion="undecided",
    setting=DEFAULT,
    leader=X4,
    preferred_by="latency",
    alternatives=(
        Alternative(HINT, "hint", Gain(1.027, low=0.97, high=1.09, is_preview=False)),
        Alternative(DEFAULT, "default", Gain(1.063, low=0.98, high=1.14, is_preview=False)),
    ),
    reservations=(Reservation("interval-includes-1", "default"),),
    deciding_budget_s=720.0,
    figures={"x4": RowFigures(129.0, 30.5), "hint": RowFigures(132.0, 29.7), "default": RowFigures(33.0, 28.7)},
)
OTHER = replace(X4, row="other", label="openvino 2x1", streams=1, instances=2)


def reason(report: TuningReport) -> str:
    return list(recommendation_texts(report))[1]


def test_a_default_that_is_as_good_names_the_best_with_its_interval_and_what_it_costs():
    assert reason(AS_GOOD) == (
        "No setting is significantly better than the default of openvino: openvino x4 had 6.3 % more FPS"
        " [-2.0 %, 14.0 %], and its latency is 3.9 times as long (129 ms p50, not 33.0 ms)."
    )
    gain = Gain(3.3, low=0.9, high=12.0, is_preview=False)
    far = replace(AS_GOOD, alternatives=tuple(replace(other, gain=gain) for other in AS_GOOD.alternatives))
    assert "openvino x4 had 3.30x the FPS [0.90, 12.00], and its latency" in reason(far)
    by_simplicity = replace(AS_GOOD, preferred_by="simplicity")
    assert reason(by_simplicity).endswith("more FPS [-2.0 %, 14.0 %], and the default is simpler.")
    near = replace(AS_GOOD.figures["x4"], latency_ms=36.0)
    assert "9.1 % longer (36.0 ms p50, not 33.0 ms)" in reason(
        replace(AS_GOOD, figures={**AS_GOOD.figures, "x4": near})
    )


def test_an_end_next_to_nothing_is_no_zero():
    close = Gain(1.063, low=0.9996, high=1.14, is_preview=False)
    assert "[-0.04 %, 14.0 %]" in reason(replace(AS_GOOD, alternatives=(Alternative(DEFAULT, "default", close),)))


def test_what_is_less_is_less_time():
    assert "took 5.9 % less time [-2.0 %, 12.3 %]" in reason(replace(AS_GOOD, objective="latency"))
    assert "5.9 % less processor time per sample [-2.0 %" in reason(replace(AS_GOOD, objective="cost"))


def test_of_too_few_launches_the_brackets_are_a_range():
    few = Gain(1.063, is_preview=True, range_low=0.98, range_high=1.14)
    one = Gain(1.063, is_preview=True)
    for gain, text in ((few, "6.3 % more FPS [-2.0 %, 14.0 %] range"), (one, "6.3 % more FPS, and")):
        report = replace(AS_GOOD, conclusion="preview", alternatives=(Alternative(DEFAULT, "default", gain),))
        assert text in reason(report)
        assert "too few launches" in reason(report)


FOUND_OTHER = replace(
    AS_GOOD,
    conclusion="better",
    setting=OTHER,
    alternatives=(
        Alternative(OTHER, None, Gain(1.02, low=0.98, high=1.06, is_preview=False)),
        Alternative(
            DEFAULT,
            "default",
            Gain(1.4, low=1.3, high=1.5, is_preview=False),
            recommended_gain=Gain(1.37, low=1.27, high=1.47, is_preview=False),
        ),
    ),
    figures={**AS_GOOD.figures, "other": RowFigures(64.0, 30.0)},
    is_confirmed=True,
    reservations=(),
    deciding_budget_s=None,
)


def test_a_default_that_is_known_to_be_worse_by_too_little_to_count_is_not_called_as_good():
    close = Gain(1.015, low=1.005, high=1.035, is_preview=False)
    report = replace(
        AS_GOOD, alternatives=(Alternative(DEFAULT, "default", close),), reservations=(Reservation("same", "default"),)
    )
    assert reason(report).startswith(
        "No setting is known to be better than the default of openvino by more than --within: openvino x4 had 1.5 %"
    )


def test_a_setting_is_named_by_its_label_where_it_keeps_another_one_from_being_confirmed():
    report = replace(FOUND_OTHER, is_confirmed=False, reservations=(Reservation("busy", "x4"),))
    assert not any("x4," in line or line.endswith("x4.") for line in recommendation_texts(report))
    report = replace(report, reservations=(Reservation("interval-includes-1", "x4"),))
    assert "over openvino x4 includes 1" in " ".join(recommendation_texts(report))


def test_a_setting_is_compared_with_a_default_that_leads():
    report = replace(
        AS_GOOD,
        conclusion="same",
        setting=OTHER,
        leader=DEFAULT,
        leader_kind="default",
        alternatives=(Alternative(OTHER, None, Gain(1.005, low=0.99, high=1.015, is_preview=False)),),
        figures={**AS_GOOD.figures, "other": RowFigures(20.0, 30.0)},
        reservations=(),
    )
    assert reason(report).startswith(
        "It is 1.00x [0.99, 1.01] the default of openvino. No setting is significantly better"
    )


def test_latencies_are_not_compared_where_they_do_not_decide_or_hardly_differ():
    lower = replace(AS_GOOD, setting=X4, preferred_by=None, figures={**AS_GOOD.figures, "x4": RowFigures(32.9, 30.5)})
    assert "ms p50, not 132 ms with the vendor's hint of openvino." in reason(lower)
    assert "p50" not in reason(replace(lower, objective="latency"))
    assert "p50" not in reason(replace(lower, is_training=True))


def test_a_setting_that_is_as_good_as_the_best_says_what_it_gains_itself():
    assert reason(FOUND_OTHER) == (
        "It is 1.37x [1.27, 1.47] the default of openvino. No setting is significantly better: openvino x4 had 2.0 %"
        " more FPS [-2.0 %, 6.0 %], and its latency is 2.0 times as long (129 ms p50, not 64.0 ms)."
    )


def test_a_setting_that_leads_by_nothing_says_that_its_latency_is_lower():
    lower = replace(AS_GOOD, setting=X4, preferred_by=None, figures={**AS_GOOD.figures, "x4": RowFigures(20.0, 30.5)})
    assert reason(lower) == (
        "It is 1.03x [0.97, 1.09] the vendor's hint of openvino and 1.06x [0.98, 1.14] the default of openvino."
        " Its latency is 20.0 ms p50, not 132 ms with the vendor's hint of openvino and 33.0 ms with the default of"
        " openvino."
    )


def test_a_default_that_leads_is_called_that_in_the_table():
    leads = replace(AS_GOOD, conclusion="reference", leader=DEFAULT, leader_kind="default", preferred_by=None)
    leads = replace(leads, alternatives=(Alternative(X4, None, AS_GOOD.alternatives[0].gain),))
    assert reason(leads) == "No setting is significantly better than the default of openvino."
    (line,) = (line for line in shown(leads, 120).splitlines() if "recommended" in line.lower() and "native" in line)
    assert "the default, recommended" in line


def test_reports_read_as_in_the_golden_file():
    reports = {
        "rates of requests": SERVED,
        "rates of requests that overlap": replace(
            SERVED,
            conclusion="undecided",
            is_confirmed=False,
            held={"found": HeldRate(41.2, 40.0, 43.0), "default": HeldRate(37.0, None, 42.1)},
            alternatives=(Alternative(DEFAULT, "default", Gain(1.11, is_preview=False)),),
            reservations=(Reservation("rates-overlap", "default"),),
            deciding_budget_s=600.0,
            notes=(BusyRequests(foreign_share=0.3),),
        ),
        "no rate of requests": replace(
            SERVED, conclusion="nothing", setting=None, leader=None, alternatives=(), command=(), code=""
        ),
        "confirmed": replace(REPORT, is_confirmed=True),
        "a default that is as good as the best": AS_GOOD,
        "a setting that is as good as the best": FOUND_OTHER,
        "on a busy machine": PRELIMINARY,
        "undecided, after few settings": UNDECIDED,
        "after a single launch": PREVIEW,
        "with a limit of accuracy": report(AGREEMENT, excluded=EXCLUDED, random_inputs=32),
    }
    texts = [f"== {title}\n{shown(each, 120)}" for title, each in reports.items()]
    for conclusion in get_args(Conclusion):
        _, reason = recommendation_texts(replace(REPORT, conclusion=conclusion, setting=DEFAULT))
        texts.append(f"== {conclusion}\n{reason}")
    texts.append(f"== searching\n{searching_text(180, (1, 16, 4), searched_text('fps'), 50.0, 300)}")
    texts.append(searching_text(1, (1,), searched_text("latency"), None, 90, samples=192))
    for title, flips in FLIPS.items():
        texts.append(f"== flip map: {title}\n{flip_map_sentence(flips)}")
        texts += last_cells(*flips)
    texts += [measuring_flips_text(0, 60), measuring_flips_text(5, 60)]
    check_golden("tune", "\n".join(texts) + "\n")


@pytest.mark.parametrize("reason", ["busy", "interval-includes-1", "rates-close"])
def test_no_remedy_calls_a_larger_budget_useless_beside_a_note_that_names_one(reason: ReservationReason) -> None:
    note = FewSettingsTried(tried=5, settings=180, enough=40, budget_s=720.0)
    for low in (0.97, 0.5):
        alternatives = (Alternative(DEFAULT, "default", Gain(1.01, low=low, high=1.04, is_preview=False)),)
        reservations = (Reservation(reason, "default"),)
        report = replace(PRELIMINARY, alternatives=alternatives, reservations=reservations, notes=(note,))
        remedy = next(text for text in recommendation_texts(report) if text.startswith("Not confirmed"))
        assert "more" in remedy.lower()
        assert "budget" not in remedy
    assert "--budget 12m" in shown(report, 200)


def test_only_the_recommended_setting_is_marked_in_the_table():
    lines = [line for line in shown(replace(REPORT, is_confirmed=True), 120).splitlines() if "recommended" in line]
    assert [line.split()[0] for line in lines] == [FOUND.label.split()[0]]


def test_a_single_launch_has_no_interval():
    assert "[1.26" not in shown(PREVIEW, 200)


OPENVINO = TunedSetting("a", "openvino x2", "openvino", 8, 2, 2, 1, "fp32")
ORT = TunedSetting("b", "ort", "ort", 8, 2, 1, 1, "fp32")
NEIGHBOUR = ChangedCondition("neighbour", 1, 0, 0.5)
ONE_THREAD = ChangedCondition("threads", 1, 2, 1.0)
BATCH_4, BATCH_16 = ChangedCondition("batch", 4, 8, 1.0), ChangedCondition("batch", 16, 8, 1.0)


def flip(condition: ChangedCondition, outcome: Any, low: float = 0.0, high: float = 0.0, **changes: Any) -> Flip:
    gain = Gain((low * high) ** 0.5, low=low, high=high, is_preview=False) if low else None
    return replace(Flip(condition, OPENVINO, ORT, outcome, gain), **changes)


def last_cells(*flips: Flip) -> list[str]:
    (table,) = (part for part in flip_map_parts(flips) if isinstance(part, TextTable))
    return [str(row.cells[-1]) for row in table.rows]


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (NEIGHBOUR, "a busy neighbour"),
        (BATCH_4, "batch 4"),
        (ONE_THREAD, "1 thread"),
        (ChangedCondition("processors", 4, 8, 1.0), "4 processors"),
        (ChangedCondition("streams", 2, 1, 1.0), "2 streams"),
        (ChangedCondition("precision", "bf16", "fp32", 1.0), "precision bf16"),
    ],
)
def test_a_condition_is_named(condition: ChangedCondition, text: str):
    assert condition_text(condition) == text


FLIPS = {
    "the nearest first, with what the rival gains": [
        flip(BATCH_4, "kept", 1.1, 1.2),
        flip(BATCH_16, "kept", 1.1, 1.2),
        flip(ONE_THREAD, "flipped", 1 / 1.2, 1 / 1.05),
        flip(NEIGHBOUR, "undecided", 0.9, 1.1),
    ],
    "none": [flip(BATCH_4, "kept", 1.1, 1.2)],
    "not measured": [flip(BATCH_4, "kept", 1.1, 1.2), flip(ONE_THREAD, "not-measured", missing="no-time")],
    "two settings of one backend": [
        flip(BATCH_4, "flipped", 0.5, 0.6, rival=replace(ORT, label="openvino x4", backend="openvino"))
    ],
    "conditions without a ratio": [
        flip(BATCH_4, "flipped", unable=(Unable("setting", "failed", "out of memory"),)),
        flip(ONE_THREAD, "not-measured", missing="no-time"),
        flip(NEIGHBOUR, "not-measured", missing="neighbour-ended", message="it was killed"),
    ],
    "by the latency limit, without a gain": [
        flip(BATCH_16, "flipped", 1.1, 1.2, unable=(Unable("setting", "too-slow"),))
    ],
    "in doubt": [flip(BATCH_4, "kept", 1.1, 1.2, is_doubtful=True)],
}


def test_a_report_without_a_flip_map_has_no_words_of_one():
    assert list(flip_map_parts(())) == []


AGREEMENT = AccuracyLimit(0.99)
OWN = AccuracyLimit(0.1, "at-most", "metrics.py:error")


def setting(label: str, accuracy: float | None, **changes: Any) -> TunedSetting:
    return replace(TunedSetting(label, label, label, 1, 1, 1, 1, "bf16", accuracy=accuracy), **changes)


def report(limit: AccuracyLimit | None, **changes: Any) -> TuningReport:
    best = setting("openvino", 0.995, misses_tolerance=True)
    shown_report = TuningReport(
        "net.onnx", "fps", None, "better", best, best,
        (Alternative(setting("ort", 1.0), "default", REPORT.alternatives[0].gain),),
        (FrontPoint(best, 2.0, 500.0, True), FrontPoint(setting("ort", 1.0), 3.0, 600.0, True)),
        accuracy_limit=limit,
    )  # fmt: skip
    return replace(shown_report, **changes)


def shown_accuracy(report: TuningReport) -> str:
    return " ".join(str(tuning_view(report).as_markdown()).split())


@pytest.mark.parametrize(
    ("limit", "value", "words"),
    [
        (AGREEMENT, 0.995, ("top-1 agreement at least 99 %", "99.5 %")),
        (OWN, 0.0123, ("metrics.py:error at most 0.1", "0.0123")),
    ],
)
def test_a_share_is_a_percentage_and_a_measure_a_number(
    limit: AccuracyLimit, value: float, words: tuple[str, str]
) -> None:
    assert (limit_text(limit), accuracy_text(value, limit)) == words


def test_every_setting_that_is_shown_has_its_value() -> None:
    text = shown_accuracy(report(AGREEMENT))
    assert text.count("agreement |") == 2
    assert text.count("99.5 %\\*") == 2
    assert text.count("100 %") == 2


def test_nothing_is_said_of_accuracy_without_a_limit() -> None:
    text = shown_accuracy(report(None))
    assert "agreement" not in text
    assert "tolerance" not in text


def test_nothing_is_told_where_nothing_was_excluded() -> None:
    assert "Not searched" not in shown_accuracy(report(AGREEMENT, excluded=Excluded(0, 0)))


def test_nothing_is_said_of_samples_that_the_user_gave() -> None:
    assert "random" not in shown_accuracy(report(AGREEMENT))


EXCLUDED = Excluded(12, 3, failed=1, best=setting("ort", 0.97, optimize="basic-int8", precision="int8"))
