"""The list of graphs that were made from another, at every width."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args, get_type_hints

import pytest
from rich.console import Console

from irbench.core.graph_record import (
    Agreement,
    AgreementElsewhere,
    GraphStep,
    NarrowRange,
    OptimizerActivity,
    PassObstacle,
    ValueRange,
)
from irbench.core.record import OutputError
from irbench.notices import Context
from irbench.notices.conversions import agreement_lines
from irbench.optimizer import Conversion, Lineage, build_recipe, calibration_note
from irbench.render.optimized_graphs import in_words, kept_view, settings_text, steps_view

PASSES = ("fold_shapes", "remove_redundant", "fuse_layer_normalization", "fuse_attention") * 5
STEPS = (GraphStep("original", False, {"Add": 630}), *(GraphStep(name, True, {"Add": 42}, 2e-6) for name in PASSES))
PLAIN = Lineage(
    *("key", "source", "model", build_recipe("all"), {"batch": 1, "sequence": 128}, STEPS),
    versions={"irbench": "0.1.0"},
    created="2026-11-21T20:26:00Z",
)


def converted(samples: int, top1: float = 0.97) -> Lineage:
    agreement = Agreement(64, "ort", OutputError(0.1, 0.04, 0.999, top1))
    steps = (*STEPS, GraphStep("quantize_static", True, {"Add": 50}, 0.04))
    asked = build_recipe("basic", conversion=Conversion("int8", samples=samples))
    return replace(PLAIN, recipe=asked, sizes={"batch": 1}, steps=steps, agreement=agreement)


def test_the_cost_of_a_conversion_says_at_which_sizes_it_was_compared_and_at_which_it_only_ran() -> None:
    agreement = Agreement(8, "ort", OutputError(0.1, 0.04, 0.999, None))
    sizes = ({"batch": 3}, {"batch": 1})
    drawn, real = (replace(agreement, **{name: sizes}) for name in ("sizes", "runs_at"))
    assert next(agreement_lines("int8", drawn)).startswith(
        "int8 compared with fp32 on 8 inputs and at 2 other sizes, computed"
    )
    assert next(agreement_lines("int8", real)).startswith(
        "int8 compared with fp32 on 8 inputs, runs at 2 other sizes, computed"
    )


def test_seven_bits_of_weights_are_said_and_eight_go_without_saying() -> None:
    agreement = Agreement(8, "ort", OutputError(0.1, 0.04, 0.999, None))
    seven, eight = (next(agreement_lines("int8", replace(agreement, weight_bits=bits))) for bits in (7, 8))
    assert seven == f"{eight}, weights of 7 bits"


SPREAD = Agreement(
    64,
    "ort",
    OutputError(0.1, 0.02, 0.999, 0.97),
    source="generated",
    ranges={"image": (0.0, 1.0)},
    calibrated_on=32,
    elsewhere=(
        AgreementElsewhere("symmetric", 16, OutputError(0.1, 0.2, 0.98, 0.8)),
        AgreementElsewhere("normal", 16, OutputError(0.5, 0.54, 0.7, 0.31)),
    ),
)
BROKEN = AgreementElsewhere("normal", 16, None)


def test_a_loss_is_said_with_the_inputs_that_it_was_measured_on_and_where_it_is_worst() -> None:
    near, far = agreement_lines("int8", SPREAD)
    assert near == (
        "int8 compared with fp32 on 64 generated inputs (uniform in [0, 1), calibrated on 32 others), computed by ort:"
        " max abs 1e-01, max err 2e-02, cosine 0.99900, top-1 agreement 97 %"
    )
    assert far == (
        "on 16 generated inputs, normal with mean 0 and deviation 1, the worst of 2 other distributions:"
        " max err 5e-01, cosine 0.70000, top-1 agreement 31 %"
    )


@pytest.mark.parametrize("elsewhere", [(SPREAD.elsewhere[0], BROKEN), (BROKEN,)])
def test_answers_that_are_not_finite_are_the_worst_loss(elsewhere: tuple[AgreementElsewhere, ...]) -> None:
    agreement = replace(SPREAD, elsewhere=elsewhere)
    _, far = agreement_lines("int8", agreement)
    assert far.startswith("on 16 generated inputs, normal with mean 0 and deviation 1")
    assert far.endswith(": answers are not finite in one precision")
    note = calibration_note("net", replace(converted(32), agreement=agreement))
    assert note is not None
    assert (
        "max err 2e-02 on such inputs, answers are not finite in one precision where they are normal with mean 0 and"
        " deviation 1. Calibrate"
    ) in note.text(Context())


def test_a_loss_on_samples_says_whether_they_calibrated() -> None:
    others = replace(SPREAD, source="data", ranges={}, elsewhere=(), samples=20, calibrated_on=20)
    (line,) = agreement_lines("int8", others)
    assert line.startswith("int8 compared with fp32 on 20 samples of data (calibrated on 20 others), ")
    same = replace(others, samples=1, calibrated_on=1, is_calibrated_on_same=True)
    assert "on 1 sample of data (calibrated on the same one), " in next(agreement_lines("int8", same))
    drawn = replace(SPREAD, drawn="normal", calibrated_on=None, elsewhere=())
    assert "on 64 generated inputs (normal with mean 0 and deviation 1), " in next(agreement_lines("int8", drawn))


def shown(kept: list[Lineage], width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(kept_view(kept), highlight=False)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_graph_of_many_passes_is_one_line(width: int) -> None:
    heading, row = shown([PLAIN], width)
    assert heading.split() == ["optimised", "fixed", "nodes", "max", "err", "made"]
    assert row.split() == ["all", "batch=1,sequence=128", "42", "2e-06", "2026-11-21", "20:26"]


def test_graphs_of_one_name_are_told_apart_by_their_settings() -> None:
    heading, few, many = shown([converted(8), converted(64)], 100)
    assert "settings" in heading
    assert "top-1" in heading
    assert "static, 8 inputs" in few
    assert "static, 64 inputs" in many
    assert "97 %" in many


def test_passes_that_were_named_are_settings() -> None:
    assert settings_text(replace(PLAIN, recipe=build_recipe("basic", ("fold_shapes",)))) == "fold_shapes"
    assert settings_text(PLAIN) == ""


def test_the_version_is_shown_where_it_differs() -> None:
    assert "irbench 0.2.0" in shown([PLAIN, replace(PLAIN, versions={"irbench": "0.2.0"})], 100)[2]


def test_what_is_special_is_said_once_below_the_table() -> None:
    failed = converted(8, top1=0.5)
    *_, note = shown([failed, failed], 100)
    assert note == "basic-int8: outputs differ too much from the original's: top-1 agreement 50 % on 64 inputs"


@pytest.mark.parametrize(
    ("activity", "words"),
    [
        (OptimizerActivity("pass", "fold_shapes", "mlp"), "mlp: fold_shapes"),
        (OptimizerActivity("raise-opset", "20", "mlp"), "mlp: raising the operator set to 20"),
    ],
)
def test_an_activity_is_said_in_words(activity: OptimizerActivity, words: str) -> None:
    said: list[str] = []
    shown: list[str] = []
    in_words(said.append, shown.append)(activity)
    assert (said, shown) == ([], [words])


def test_a_graph_is_one_line_at_the_end_which_ends_the_status() -> None:
    said: list[str] = []
    shown: list[str] = []
    in_words(said.append, shown.append)(OptimizerActivity("done", "basic", "mlp", (19, 3), (22, 18)))
    assert shown == [""]
    assert said == ["mlp: optimised as basic: 22 to 18 nodes, changed by 3 of 19 steps (irbench optimize lists them)"]


def test_every_activity_has_words() -> None:
    codes = get_args(get_type_hints(OptimizerActivity)["code"])
    said: list[str] = []
    for code in codes:
        in_words(said.append, lambda text: said.append(text) if text else None)(
            OptimizerActivity(code, "fold_shapes", "mlp")
        )
    assert len(set(said)) == len(codes)
    assert all(words.removeprefix("mlp: ") for words in said)


BERT_OPERATORS = {"Add": 20, "Gelu": 6, "LayerNormalization": 12}
SKIPPED = {"Add": 8, "com.microsoft.SkipLayerNormalization": 12, "com.microsoft.Gelu": 6}
BERT_STEPS = (
    GraphStep("original", False, BERT_OPERATORS),
    GraphStep("fuse_skip_layer_normalization", True, SKIPPED, 2e-6, "com.microsoft"),
    GraphStep(
        "raise_opset", False, SKIPPED, obstacle=PassObstacle("opset-not-raised", 17, "Upsample 9 to 10 has no way")
    ),
)


def shown_steps(width: int) -> str:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(steps_view("bert", "all", BERT_STEPS, (17, 17)))
    return capture.get()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_what_changed_is_never_cut(width: int) -> None:
    lines = shown_steps(width).splitlines()
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for words in ("+12 SkipLayerNormalization,", "-12 Add,", "-12 LayerNormalization", "-12", "skipped"):
        assert words in text
    assert "cut at column" not in text


def test_a_domain_is_said_of_an_operator_only_where_another_has_its_name() -> None:
    assert "+6 com.microsoft.Gelu, -12 Add" in shown_steps(200)
    assert "uses operators of com.microsoft" in shown_steps(200)


def test_columns_without_room_are_named() -> None:
    assert "hidden, the terminal is too narrow: nodes, max err; see --format json" in " ".join(shown_steps(60).split())
    assert "hidden" not in shown_steps(80)


def test_a_loss_that_no_runtime_computed_is_not_called_measured() -> None:
    hidden = Agreement(8, "ort", OutputError(0.0, 0.0, 1.0, None), source="generated", computed_in="fp32")
    (line,) = agreement_lines("fp16", hidden)
    assert line.startswith("the loss in fp16 was not measured: ort computed this graph in fp32")
    for precision, known in (
        ("fp16", replace(hidden, computed_in="fp16")),
        ("int8", hidden),
        ("fp16", replace(hidden, computed_in="")),
    ):
        (line,) = agreement_lines(precision, known)
        assert line.startswith(f"{precision} compared with fp32")


def test_values_that_leave_fp16_are_named() -> None:
    fits = NarrowRange(8, 30, 1, 1, (ValueRange("h6", 1.5e6),), (ValueRange("eps", 3e-6),))
    agreement = Agreement(8, "ort", OutputError(0.0, 0.0, 1.0, None), source="data", narrow_range=fits)
    _, line = agreement_lines("fp16", agreement)
    assert line == (
        "range on 8 samples of data, computed in fp32: above 65504, the largest number of fp16: 1 of 30 values"
        " (h6 1.5e+06); below 6.1e-05, its least normal number: 1 of 30 values (eps 3e-06)"
    )
    _, line = agreement_lines("fp16", replace(agreement, narrow_range=NarrowRange(8, 30, 0, 0)))
    assert line.endswith("each of 30 values fits into fp16")
