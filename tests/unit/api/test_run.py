"""What ``irbench.run`` takes, and what it refuses."""

from __future__ import annotations

import inspect
from typing import Any

import onnx
import pytest

import irbench


@pytest.mark.parametrize("function", [irbench.run, irbench.plan])
@pytest.mark.parametrize("model", [onnx.ModelProto(), b"model", 3, None])
def test_a_model_that_is_no_path_and_no_name_is_refused(function: Any, model: Any):
    with pytest.raises(irbench.IrbenchError, match=f"cannot be given as {type(model).__name__}") as caught:
        function(model)
    assert "path of its file" in caught.value.hint


def test_a_list_of_models_is_refused_with_the_way_to_pass_it():
    with pytest.raises(irbench.IrbenchError, match="list") as caught:
        irbench.run(["a.onnx", "b.onnx"])  # type: ignore[arg-type]
    assert "irbench.run(*models)" in caught.value.hint


@pytest.mark.parametrize("function", [irbench.run, irbench.plan])
@pytest.mark.parametrize("keyword", irbench.RunKeywords.__annotations__)
def test_help_names_every_keyword_with_its_meaning(function: Any, keyword: str):
    assert inspect.signature(function).parameters[keyword].kind is inspect.Parameter.KEYWORD_ONLY
    described = [line for line in (function.__doc__ or "").splitlines() if line.startswith(f"    {keyword}: ")]
    assert len(described) == 1
    assert described[0].strip() in (irbench.RunKeywords.__doc__ or "")


@pytest.mark.parametrize("function", [irbench.run, irbench.plan])
def test_help_does_not_hide_keywords_behind_options(function: Any):
    assert "options" not in inspect.signature(function).parameters
    assert "irbench.RunKeywords" not in (function.__doc__ or "")
