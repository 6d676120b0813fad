"""What a user is told of an optimised graph besides its table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from irbench.core.graph_record import Agreement, CheckedInput, GraphCheck, GraphStep, PassObstacle, UncheckedBody
from irbench.core.record import OutputError
from irbench.features.optimize.view import advice, check_lines, unchecked_texts
from irbench.optimizer import Conversion, Lineage, Optimized, build_recipe
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec

TOKENS = InputSpec(TensorSpec("tokens", "int32", ("batch", "sequence")), 0, 9)
BUNDLE = Bundle("bert", (TOKENS,), (), defaults={"sequence": 128})
ORIGINAL, FOLDED = GraphStep("original", False, {"Add": 2}), GraphStep("fold_shapes", True, {"Add": 1}, 0.0)
LINEAGE = Lineage("key", "source", "model", build_recipe("extended"), {}, (ORIGINAL, FOLDED), {}, "2026-11-21")


def told(lineage: Lineage, output: Path | None = None, inputs: tuple[str, ...] = ()) -> Iterator[str]:
    artifact = Artifact("onnx", Path("model.onnx"), (TOKENS.tensor.bind(lineage.sizes),), ())
    return advice("bert", BUNDLE, Optimized(artifact, lineage), output, inputs)


def test_what_can_be_named_is_measured_by_its_name() -> None:
    assert list(told(LINEAGE)) == ["measure it: irbench run bert --optimize none,extended"]
    bound = replace(LINEAGE, sizes={"batch": 8, "sequence": 128})
    assert list(told(bound)) == ["measure it: irbench run bert --batch 8 --optimize none,extended"]
    short = replace(LINEAGE, sizes={"batch": 1, "sequence": 32})
    assert list(told(short)) == ["measure it: irbench run bert --shape tokens=1x32 --optimize none,extended"]


def test_passes_that_were_named_one_by_one_are_measured_as_a_file() -> None:
    named = replace(LINEAGE, recipe=build_recipe("basic", ("fold_shapes",)))
    assert list(told(named)) == ["measure it as a file: add -o FILE"]
    assert list(told(named, Path("b.onnx"))) == ["measure it: irbench run b.onnx --shape tokens=1x128"]
    bound = replace(named, sizes={"batch": 1, "sequence": 128})
    assert list(told(bound, Path("b.onnx"))) == ["measure it: irbench run b.onnx"]


def test_a_file_without_default_sizes_is_measured_at_a_size_of_its_check() -> None:
    checked = GraphCheck(inputs=(CheckedInput("seeded", {"batch": 2, "sequence": 16}),))
    named = replace(LINEAGE, recipe=build_recipe("basic", ("fold_shapes",)), checked=checked)
    made = Optimized(Artifact("onnx", Path("model.onnx"), (TOKENS.tensor,), ()), named)
    assert list(advice("f.onnx", replace(BUNDLE, defaults={}), made, Path("b.onnx"))) == [
        "measure it: irbench run b.onnx --shape tokens=1x16"
    ]
    made = replace(made, lineage=replace(LINEAGE, checked=checked))
    assert list(advice("f.onnx", replace(BUNDLE, defaults={}), made, None)) == [
        "measure it: irbench run f.onnx --shape tokens=1x16 --optimize none,extended"
    ]


def test_a_calibration_of_its_own_is_measured_as_a_file() -> None:
    asked = build_recipe("basic", conversion=Conversion("int8", samples=8))
    assert list(told(replace(LINEAGE, recipe=asked))) == ["measure it as a file: add -o FILE"]


def test_a_conversion_on_data_is_measured_as_a_file() -> None:
    asked = build_recipe("basic", conversion=Conversion("int8"))
    assert list(told(replace(LINEAGE, recipe=asked, data_sha256={"tokens": "ab"}))) == [
        "measure it as a file: add -o FILE"
    ]


def test_a_run_is_advised_on_the_inputs_that_were_given() -> None:
    given = ("--data 'my tokens'", "--value mask=1")
    assert list(told(LINEAGE, inputs=given)) == [
        "measure it: irbench run bert --data 'my tokens' --value mask=1 --optimize none,extended"
    ]
    named = replace(LINEAGE, recipe=build_recipe("basic", ("fold_shapes",)))
    assert list(told(named, Path("b c.onnx"), given)) == [
        "measure it: irbench run 'b c.onnx' --data 'my tokens' --value mask=1"
    ]
    assert list(told(named, Path("b.onnx"), given[1:])) == [
        "measure it: irbench run b.onnx --shape tokens=1x128 --value mask=1"
    ]


def test_a_graph_in_which_nothing_changed_is_told() -> None:
    assert list(told(replace(LINEAGE, steps=(ORIGINAL,)))) == ["bert: nothing to simplify"]


def test_a_later_operator_set_alone_is_nothing_to_measure() -> None:
    raised = replace(ORIGINAL, name="raise_opset", modified=True)
    assert list(told(replace(LINEAGE, steps=(ORIGINAL, raised)))) == ["bert: nothing to simplify"]
    rewritten = replace(raised, operators={**ORIGINAL.operators, "Reshape": 2})
    (advised,) = told(replace(LINEAGE, steps=(ORIGINAL, rewritten)))
    assert advised.startswith("measure it: ")


def test_functions_that_stay_are_told() -> None:
    stayed = GraphStep("inline_functions", False, obstacle=PassObstacle("functions-not-inlined", 18, "no body."))
    first, *_ = told(replace(LINEAGE, steps=(ORIGINAL, stayed, FOLDED)))
    assert first == "warning: bert: functions stay as they are: no body; passes left them alone"


def test_a_pass_that_was_left_out_after_a_crash_is_told_once() -> None:
    left = GraphStep("fuse_attention", False, obstacle=PassObstacle("crashed", 23, "SIGSEGV"))
    crash = "the runtime that checks its graph crashed with SIGSEGV; the graph stays as it was before fuse_attention"
    first, second, *_ = told(replace(LINEAGE, steps=(ORIGINAL, left, FOLDED, left)))
    assert first == f"warning: bert: {crash}"
    assert not second.startswith("warning")


def test_what_was_not_checked_is_told() -> None:
    checked = GraphCheck(unchecked=(UncheckedBody("If", "choice", "then_branch"),))
    first, *_ = told(replace(LINEAGE, checked=checked))
    assert first.startswith("warning: bert: then_branch of If choice was not checked: ")


def test_free_sizes_are_named_where_no_attention_was_fused() -> None:
    steps = (ORIGINAL, FOLDED, GraphStep("fuse_attention", False, {"Softmax": 1}))
    idle = replace(LINEAGE, steps=steps, fuses_when_bound=True)
    first, _ = told(idle)
    assert first.startswith("sizes are free (batch, sequence): ")
    assert first.endswith("--batch 1 --shape tokens=1x128")
    assert len(list(told(replace(idle, sizes={"sequence": 128})))) == 1


def test_nothing_is_said_of_free_sizes_where_binding_them_fuses_nothing() -> None:
    steps = (ORIGINAL, FOLDED, GraphStep("fuse_attention", False, {"Softmax": 1}))
    assert len(list(told(replace(LINEAGE, steps=steps)))) == 1


def test_a_conversion_that_fails_is_told_with_its_limit_and_what_to_try() -> None:
    step = GraphStep("quantize_static", True, {"Add": 1}, 0.1)
    asked = build_recipe("basic", conversion=Conversion("int8"))
    agreement = Agreement(64, "ort", OutputError(0.1, 0.1, 0.99, 0.5))
    failed = replace(LINEAGE, recipe=asked, steps=(ORIGINAL, step), agreement=agreement)
    (warning,) = told(failed)
    assert warning == (
        "warning: bert+basic-int8 answers differently from fp32: top-1 agreement 50 % on 64 inputs, "
        "below 90 %. "
        "Try --precision fp16, --quantize dynamic or more --calibrate."
    )
    wide = replace(failed, agreement=Agreement(64, "ort", OutputError(0.5, 0.5, 0.99, None)))
    assert "max err 0.5 on 64 inputs, above 0.2. Try" in next(told(wide))


INPUTS = tuple(CheckedInput("seeded", {"batch": batch, "length": length}) for batch, length in ((2, 8), (3, 5), (1, 8)))
SHAPES = "Fix such sizes with --shape to check it"
FOLLOW = "Compare the outputs on inputs that lead into every branch"


def test_inputs_and_sizes_stand_in_one_line():
    checked = GraphCheck((*INPUTS, CheckedInput("mask-half", {"batch": 1, "length": 8})))
    assert list(check_lines(checked)) == ["checked on 4 inputs (seeded, half masked); batch 1, 2 and 3; length 5 and 8"]


def test_fixed_shapes_have_no_sizes():
    assert list(check_lines(GraphCheck((CheckedInput("given"),)))) == ["checked on 1 input (given data)"]


def test_what_was_left_out_has_its_reason():
    checked = GraphCheck(INPUTS, {"constant-rows": "unstable"}, ("length",))
    assert list(check_lines(checked))[1:] == [
        "not checked on constant rows inputs: the original's outputs depend on rounding errors",
        "not checked at other sizes of length: the original runs at none that was tried",
    ]


def test_subgraphs_are_counted_with_those_that_were_not_reached():
    missed = (UncheckedBody("If", "choice", "then_branch"), UncheckedBody("Loop", "again", "body", 0))
    assert list(check_lines(GraphCheck(INPUTS, bodies=2, unchecked=missed)))[1] == (
        "checked 2 of 3 subgraphs of If, Loop and Scan"
    )


def test_what_is_unchecked_is_a_sentence_with_a_remedy():
    missed = (
        UncheckedBody("If", "choice", "then_branch"),
        UncheckedBody("Loop", "again", "body", 0, "original-fails"),
        UncheckedBody("If", "rank", "else_branch", None, "other-shapes"),
        UncheckedBody("Scan", "rows", "body", None, "not-followed"),
    )
    remedy = "Give inputs that lead there with --data"
    assert list(unchecked_texts(GraphCheck(INPUTS, unchecked=missed))) == [
        f"then_branch of If choice was not checked: no input leads there. {remedy}",
        f"Loop again with 0 iterations was not checked: the original fails there. {remedy}",
        f"else_branch of If rank was not checked: shapes decide, and none that was tried leads there. {SHAPES}",
        f"body of Scan rows was not checked: what is executed could not be followed. {FOLLOW}",
    ]


def test_a_long_list_is_cut():
    checked = GraphCheck(INPUTS, unchecked=(UncheckedBody("If", "choice", "then_branch"),) * 7)
    assert list(unchecked_texts(checked))[-1] == "2 more of such a kind; --format json has all of them"
    assert len(list(unchecked_texts(checked))) == 6
