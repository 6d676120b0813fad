"""What ``irbench.run`` takes, and what it refuses."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import models
import pytest
from compared_runs import EVEN, store

import irbench
from irbench.measure.lock import measuring
from irbench.store.folders import default_root


@pytest.mark.parametrize("function", [irbench.run, irbench.plan])
@pytest.mark.parametrize("model", [b"model", 3, None])
def test_a_model_that_is_no_path_and_no_name_is_refused(function: Any, model: Any):
    with pytest.raises(irbench.IrbenchError, match=f"cannot be given as {type(model).__name__}") as caught:
        function(model)
    assert "onnx.ModelProto" in caught.value.hint


def test_a_list_of_models_is_refused_with_the_way_to_pass_it():
    with pytest.raises(irbench.IrbenchError, match="list") as caught:
        irbench.run(["a.onnx", "b.onnx"])  # type: ignore[arg-type]
    assert "irbench.run(*models)" in caught.value.hint


def test_help_names_every_keyword_with_its_meaning(subtests: pytest.Subtests):
    for function in [irbench.run, irbench.plan]:
        for keyword in irbench.RunKeywords.__annotations__:
            with subtests.test(function=function, keyword=keyword):
                assert inspect.signature(function).parameters[keyword].kind is inspect.Parameter.KEYWORD_ONLY
                described = [
                    line for line in (function.__doc__ or "").splitlines() if line.startswith(f"    {keyword}: ")
                ]
                assert len(described) == 1
                assert described[0].strip() in (irbench.RunKeywords.__doc__ or "")


@pytest.mark.parametrize("function", [irbench.run, irbench.plan])
def test_help_does_not_hide_keywords_behind_options(function: Any):
    assert "options" not in inspect.signature(function).parameters
    assert "irbench.RunKeywords" not in (function.__doc__ or "")


WRONG = (
    (("missing.onnx",), {}, "missing.onnx"),
    (("resnet5",), {}, "resnet5"),
    ((), {"all": True}, "No model has been exported yet"),
    (("resnet50",), {"backends": "ort:tpu"}, "has no device"),
    (("resnet50",), {"set": {"ort": {"threads": 2}}}, "no option 'threads'"),
    (("resnet50",), {"data": "missing/"}, "missing"),
)


@pytest.mark.parametrize(("models", "options", "said"), WRONG)
def test_a_wrong_name_is_refused_while_another_irbench_measures(
    models: tuple[str, ...], options: dict[str, Any], said: str
):
    with measuring("somebody else"), pytest.raises(irbench.IrbenchError, match=said):
        irbench.run(*models, progress=None, **options)


def test_a_right_call_is_refused_while_another_irbench_measures(tmp_path: Path):
    models.mlp(tmp_path)
    with measuring("somebody else"), pytest.raises(irbench.IrbenchError, match="already measuring"):
        irbench.run(tmp_path / "mlp.onnx", progress=None)


@pytest.mark.parametrize(("name", "is_told"), [("before", True), ("after", False), ("", False)])
def test_a_name_that_a_stored_run_has_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, is_told: bool
):
    stored = store(default_root(), {"ort": EVEN}, plan={"name": "before"})
    model = models.mlp(tmp_path).path
    with caplog.at_level("INFO", "irbench"):
        irbench.plan(model, name=name, backends="fake-a")
    told = [record.message for record in caplog.records if "is called" in record.message]
    assert len(told) == is_told
    assert all(
        stored.document.run_id in text and "irbench.load('before') will mean the newest" in text for text in told
    )
