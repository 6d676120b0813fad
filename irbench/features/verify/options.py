"""The options of ``irbench verify``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from irbench.options import kinds
from irbench.options.input_request import DataSource
from irbench.options.option import CommandOptions, option
from irbench.options.run import SIZE_HELP, like
from irbench.options.values import Constants, Feedback, Shapes

Suite: TypeAlias = Literal["onnx"]


@dataclass(frozen=True)
class VerifyOptions:
    """What is verified: a model, or cases of a suite.

    Attributes:
        model: As the user named it.
    """

    model: str | None = None
    data: DataSource | None = like(
        "data",
        help="Samples as irbench run takes them: a .npz, .npy or image file, or a folder of them; or a"
        " test_data_set_0, or a folder of those, whose output_*.pb are the expected outputs.",
    )
    value: Constants = like("value")
    feedback: Feedback = like("feedback")
    classes: tuple[str, ...] = like("classes")
    shape: Shapes = like("shape", help=f"Shape {SIZE_HELP}: length=128")
    suite: Suite | None = option(kinds.one_of(Suite), "Run the test suite of the onnx package.", metavar="onnx")
    only: str | None = option(
        kinds.text('"test_add*"', "PATTERN"), "Run only the cases that match, for example test_add*."
    )
    between: tuple[str, str] | None = option(
        kinds.PAIR,
        "Compare two versions of a runtime, each a release (onnxruntime==1.22.0), a wheel, the Python of an"
        " environment, or installed.",
    )
    backends: tuple[str, ...] | None = like("backends", help="Backends to check, with an optional device: ort:cuda.")


VERIFY = CommandOptions("verify", VerifyOptions)
