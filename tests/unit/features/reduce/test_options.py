"""What a reduction is asked for is checked before anything is searched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from irbench.features.reduce.request import reduce_options

from irbench.errors import IrbenchError
from irbench.features.reduce.options import ReduceOptions, ReduceSettings
from irbench.features.reduce.reproduction import repeat_command
from irbench.features.reduce.run import output_folder, refuse_ineffective, refuse_several_values
from irbench.options.expectation import Failing, SlowerThan, WrongAnswers
from irbench.options.run import RunOptions

SLOWER = SlowerThan("fake-a", "fake-b", 1.5)


def asked(**settings: Any) -> ReduceOptions:
    return reduce_options("m.onnx", ReduceSettings(**settings), RunOptions())


@pytest.mark.parametrize("given", [(None, None, None), (SLOWER, "ort", None), (None, "ort", "ort")])
def test_one_difference_is_expected(given: tuple[Any, Any, Any]):
    expect, wrong, failure = given
    with pytest.raises(IrbenchError, match="expected") as caught:
        asked(expect=expect, expect_wrong=wrong, expect_failure=failure)
    assert "--expect-wrong" in caught.value.hint


def test_the_short_forms_mean_the_same():
    assert asked(expect_wrong="ort").expectation == WrongAnswers("ort")
    assert asked(expect_failure="ort").expectation == Failing("ort")


def test_options_that_would_do_nothing_are_refused():
    for name, given in {
        "threads": {"run": RunOptions(threads=(1,))},
        "no-lock": {"run": RunOptions(no_lock=True)},
        "min-share": {"min_share": 0.05},
    }.items():
        for expected in (WrongAnswers("ort"), Failing("ort")):
            with pytest.raises(IrbenchError, match=f"--{name} does not apply"):
                refuse_ineffective(ReduceOptions("m.onnx", expected, **given))  # type: ignore[arg-type]
        refuse_ineffective(ReduceOptions("m.onnx", SLOWER, **given))  # type: ignore[arg-type]
    with pytest.raises(IrbenchError, match="--threads takes one value"):
        refuse_several_values(RunOptions(threads=(1, 2)))


def test_a_folder_that_holds_something_is_refused_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert output_folder(ReduceOptions("a/net.onnx", SLOWER)) == Path("net-reduced")
    (tmp_path / "net-reduced").mkdir()
    assert output_folder(ReduceOptions("a/net.onnx", SLOWER)) == Path("net-reduced")
    (tmp_path / "net-reduced" / "note").touch()
    with pytest.raises(IrbenchError, match="net-reduced is not empty"):
        output_folder(ReduceOptions("a/net.onnx", SLOWER))
    with pytest.raises(IrbenchError, match="is a file"):
        output_folder(ReduceOptions("resnet50", SLOWER, output=tmp_path / "net-reduced" / "note"))


def test_the_command_that_repeats_it_has_the_settings_that_matter():
    run = RunOptions(precision=("bf16",), threads=(2,), set={"ort": {"a.b": "1"}})
    assert " ".join(repeat_command(ReduceOptions("m.onnx", SLOWER, run=run))) == (
        "irbench run reduced.onnx --data inputs.npz --backends fake-a,fake-b --precision bf16 --threads 2"
        " --set ort.a.b=1"
    )
    assert repeat_command(ReduceOptions("m.onnx", WrongAnswers("ort")))[:2] == ("irbench", "verify")
