"""Keywords of Python, written by ``make generated`` from :mod:`irbench.features.verify.options`; change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict

from irbench.options.input_request import Data


class VerifyKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.verify`; ``None`` is the default of each.

    Attributes:
        data: Samples as irbench run takes them: a .npz, .npy or image file, or a folder of them; or a test_data_set_0,
            or a folder of those, whose output_*.pb are the expected outputs (for example ``"speech/", or {"x":
            array}``).
        value: Constant for an input (for example ``{"sr": 16000}``).
        feedback: Feed an output to an input of the next call, as in a decode loop (for example ``{"h": "h0"}``).
        classes: Outputs with a score for each class, whose top-1 agreement is measured (for example ``["label"]``;
            default: those that end in a softmax or have a Keras loss for classes, otherwise the only output).
        shape: Shape of an input, or size of a dynamic dimension: length=128 (for example ``{"tokens": (1, 128)}``).
        suite: Run the test suite of the onnx package (for example ``"onnx"``).
        only: Run only the cases that match, for example test_add* (for example ``"test_add*"``).
        between: Compare two versions of a runtime, each a release (onnxruntime==1.22.0), a wheel, the Python of an
            environment, or installed (for example ``("onnxruntime==1.22.0", "onnxruntime==1.23.2")``).
        backends: Backends to check, with an optional device: ort:cuda (for example ``["ort", "openvino:gpu"]``;
            default: all installed that can read the model).
    """

    data: Data | None
    value: Mapping[str, Any] | None
    feedback: Mapping[str, str] | None
    classes: str | Iterable[str] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    suite: Literal["onnx"] | None
    only: str | None
    between: tuple[str, str] | None
    backends: str | Iterable[str] | None
