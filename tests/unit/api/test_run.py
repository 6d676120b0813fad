"""What ``irbench.run`` takes, and what it refuses."""

from __future__ import annotations

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
