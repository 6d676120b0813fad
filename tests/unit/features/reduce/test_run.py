"""What a reduction is asked for is checked before anything is searched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench.features.reduce.expectation import Failing, SlowerThan, WrongAnswers
from irbench.features.reduce.options import ReduceOptions
from irbench.features.reduce.run import ONE_VALUE, output_folder, refuse_ineffective
from irbench.options.run import RunOptions
from irbench.requests.run_requests import refuse_several_values

SLOWER = SlowerThan("fake-a", "fake-b", 1.5)


@pytest.mark.parametrize("differences", [(None, None, None), (SLOWER, "ort", None), (None, "ort", "ort")])
def test_one_difference_is_expected(differences: tuple[Any, Any, Any]):
    expect, wrong, failure = differences
    options = ReduceOptions("m.onnx", expect=expect, expect_wrong=wrong, expect_failure=failure)
    with pytest.raises(IrbenchError, match="expected") as caught:
        _ = options.expectation
    assert "--expect-wrong" in caught.value.hint


def test_the_short_forms_mean_the_same():
    assert ReduceOptions("m.onnx", expect_wrong="ort").expectation == WrongAnswers("ort")
    assert ReduceOptions("m.onnx", expect_failure="ort").expectation == Failing("ort")


def test_options_that_would_do_nothing_are_refused():
    for name, given in {
        "threads": {"run": RunOptions(threads=(1,))},
        "no-lock": {"run": RunOptions(no_lock=True)},
        "min-share": {"min_share": 0.05},
    }.items():
        for expected in (WrongAnswers("ort"), Failing("ort")):
            with pytest.raises(IrbenchError, match=f"--{name} does not apply"):
                refuse_ineffective(ReduceOptions("m.onnx", expect=expected, **given))  # type: ignore[arg-type]
        refuse_ineffective(ReduceOptions("m.onnx", expect=SLOWER, **given))  # type: ignore[arg-type]
    with pytest.raises(IrbenchError, match="--threads takes one value"):
        refuse_several_values(RunOptions(threads=(1, 2)), ONE_VALUE)


def test_a_folder_that_holds_something_is_refused_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert output_folder(ReduceOptions("a/net.onnx", expect=SLOWER)) == Path("net-reduced")
    (tmp_path / "net-reduced").mkdir()
    assert output_folder(ReduceOptions("a/net.onnx", expect=SLOWER)) == Path("net-reduced")
    (tmp_path / "net-reduced" / "note").touch()
    with pytest.raises(IrbenchError, match="net-reduced is not empty"):
        output_folder(ReduceOptions("a/net.onnx", expect=SLOWER))
    with pytest.raises(IrbenchError, match="is a file"):
        output_folder(ReduceOptions("resnet50", expect=SLOWER, output=tmp_path / "net-reduced" / "note"))
