"""The last step of a recipe: converting the graph to another precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.onnx.reading.graph_precision import read_precision
from irbench.optimizer.calibration_samples import CheckSamples
from irbench.optimizer.job import load, write
from irbench.optimizer.narrowing import OPSETS, narrow
from irbench.optimizer.recipe import Conversion
from irbench.spi import Array, QuantizationRequest, Quantizer
from irbench.system.host import int8_weight_bits

_LEAST_OPSET_OF_INT8 = 13
"""The first one in which QuantizeLinear takes a scale for each channel."""

_ALTERNATIVES = {
    "fp16": "bf16, whose range is that of fp32",
    "bf16": "fp16, in which more runtimes compute",
    "int8": "the other method (--quantize)",
}
_QUANTISED = "multiplies by constant weights outside of If, Loop and Scan, as Conv, Gemm, MatMul and LSTM do"


class NothingToConvert(IrbenchError):
    """No operation of the graph can compute in the precision."""

    def __init__(self, precision: str, what: str) -> None:
        super().__init__(
            f"There is nothing to convert to {precision}: no operation of the graph {what}.",
            hint="Leave `--precision` out, or use another model.",
        )


class CannotConvert(IrbenchError):
    """A tool or a runtime fails at the conversion."""

    def __init__(self, name: str, precision: str, reason: str) -> None:
        super().__init__(
            f"{name} cannot be converted to {precision}: {reason.rstrip('.')}.",
            hint=f"Try {_ALTERNATIVES[precision]}; if that fails too, leave `--precision` out.",
        )


def require_fp32(path: Path, name: str, precision: str) -> None:
    """Refuse a graph that was converted before."""
    precision_now = read_precision(path).narrowest
    if precision_now != "fp32":
        raise IrbenchError(
            f"{name} is already {precision_now} and cannot be converted to {precision}.",
            hint="Use the fp32 graph it was made from.",
        )


def least_opset(conversion: Conversion) -> int:
    """Return the operator set that a conversion needs."""
    return OPSETS.get(conversion.precision, _LEAST_OPSET_OF_INT8)


def require_opset(opset: int, conversion: Conversion, name: str) -> None:
    """Refuse a graph whose operator set could not be raised far enough."""
    least = least_opset(conversion)
    if opset < least:
        raise IrbenchError(
            f"{name} cannot be converted to {conversion.precision}, which needs opset {least}: it has {opset}, and "
            "ONNX's converter cannot raise it.",
            hint=f"Export it again with opset {least} or later, or leave `--precision` out.",
        )


def convert(
    source: Path, target: Path, conversion: Conversion, calibration: CheckSamples, quantizer: str | None
) -> str:
    """Write the graph of ``source`` in another precision to ``target``.

    Returns:
        What was done, as the step's name.

    Raises:
        NothingToConvert: The graph holds nothing that can be.
    """
    if conversion.precision != "int8":
        return _narrow(source, target, conversion.precision)
    assert quantizer is not None
    return _quantize(source, target, conversion, calibration, registry.quantizer(quantizer))


def _quantize(
    source: Path, target: Path, conversion: Conversion, calibration: CheckSamples, quantizer: Quantizer
) -> str:
    suitable = quantizer.suitable_method(source)
    if suitable is None:
        raise NothingToConvert("int8", _QUANTISED)
    method = suitable if conversion.method == "auto" else conversion.method
    quantizer.quantize(QuantizationRequest(source, target, method, lambda: _named(calibration), int8_weight_bits()))
    return f"quantize_{method}"


def _narrow(source: Path, target: Path, precision: Literal["fp16", "bf16"]) -> str:
    model = load(source)
    if not narrow(model, precision):
        raise NothingToConvert(precision, "computes with floats")
    write(model, target)
    return f"narrow_to_{precision}"


def _named(samples: CheckSamples) -> Iterator[Mapping[str, Array]]:
    names = [spec.name for spec in samples.artifact.inputs]
    for feed in samples.feeds(samples.artifact):
        yield dict(zip(names, feed, strict=True))
