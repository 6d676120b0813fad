"""The options of ``irbench verify`` and :func:`irbench.verify`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from irbench.errors import IrbenchError
from irbench.options.asked_inputs import AskedInputs, DataSource
from irbench.options.values import Constants, Feedback, Shapes
from irbench.spec import Number


@dataclass(frozen=True)
class VerifyOptions:
    """What is verified: a model, or cases of a suite.

    Attributes:
        model: As the user named it.
        backends: Names with devices; ``None`` for every installed one that can read the model.
        data: Samples; with expected outputs where it is a data set of the ONNX convention, or a folder of them.
        value: Constants for inputs.
        feedback: Outputs by the inputs that they become in the next call.
        shape: Of inputs, or sizes of dynamic dimensions, by name.
        suite: ``onnx`` for the test suite that the onnx package carries.
        only: A pattern of the suite's cases.
        between: Two versions of a runtime, which are compared.
    """

    model: str | None = None
    backends: tuple[str, ...] | None = None
    data: DataSource | None = None
    value: Constants = field(default_factory=dict[str, tuple[Number, ...]])
    feedback: Feedback = field(default_factory=dict[str, str])
    shape: Shapes = field(default_factory=dict[str, tuple[int, ...]])
    suite: Literal["onnx"] | None = None
    only: str | None = None
    between: tuple[str, str] | None = None


def refuse_contradictions(options: VerifyOptions) -> None:
    """Refuse options that cannot be obeyed together, before anything is looked up.

    Raises:
        IrbenchError: Two of them contradict each other, or there is nothing to verify.
    """
    AskedInputs(options.data).require_data()
    if options.suite is None:
        if options.only is not None:
            raise IrbenchError("--only needs a test suite.", hint="Add --suite onnx.")
        if options.model is None:
            raise IrbenchError("Nothing to verify.", hint="Give a model or an ONNX file, or add --suite onnx.")
        if options.shape and expected_outputs(options) is not None:
            raise IrbenchError("With --data the files determine the shapes.", hint="Leave --shape out.")
        return
    given = {
        "A model": options.model,
        "--data": options.data,
        "--value": options.value,
        "--feedback": options.feedback,
        "--shape": options.shape,
    }
    for name, value in given.items():
        if value:
            raise IrbenchError(f"{name} and --suite cannot be combined.", hint="Leave one of them out.")


def expected_outputs(options: VerifyOptions) -> Path | None:
    """Return the data sets whose outputs are the expected ones, or one; ``None`` where a reference computes them."""
    if not isinstance(options.data, Path) or options.value or options.feedback:
        return None
    patterns = ("output_*.pb", "test_data_set_*/output_*.pb")
    return options.data if any(any(options.data.glob(pattern)) for pattern in patterns) else None
