"""Calls of ONNX Runtime's quantisation tool, with settings of ours.

Static: convolutions and dense layers between QuantizeLinear and DequantizeLinear (QDQ). Weights by channel and
symmetric, activations by tensor and asymmetric over the least and largest value of the calibration, biases corrected
beforehand. Outputs of dense layers, logits above all, and everything else stay fp32: scores in 256 steps cost the most
accuracy, and sums and pools in integers save little.
Dynamic: weights as integers, activations quantised while they are computed, without calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irbench.spi import Array
from irbench_ort.quantization.bias_correction import correct_biases, corrected_inputs
from irbench_ort.quantization.biases import separate_biases
from irbench_ort.quantization.calibration import CalibrationReader, channel_means
from irbench_ort.quantization.dense_layers import gemms_to_matmuls, simplify_gemms
from irbench_ort.quantization.methods import DYNAMIC, STATIC, name_excluded
from irbench_ort.quantization.recurrent_weights import separate_recurrent_weights

if TYPE_CHECKING:
    import onnx

__all__ = ["quantize_dynamic", "quantize_static"]

_MAX_MESSAGE_BYTES = 1 << 31
"""What one protobuf message can hold."""


def quantize_static(source: Path, target: Path, feeds: Callable[[], Iterator[Mapping[str, Array]]]) -> None:
    """Write to ``target`` the graph of ``source``; copies are left beside ``source``.

    Args:
        source: A graph in fp32.
        target: In another folder.
        feeds: Starts the calibration's inputs from the beginning: arrays by the names of the graph's inputs.
    """
    import onnx
    from onnxruntime import quantization

    prepared = _prepared(source)
    model = onnx.load(prepared)
    simplify_gemms(model)
    separate_biases(model)
    if names := corrected_inputs(model):
        correct_biases(model, channel_means(prepared, names, feeds()))
    excluded = name_excluded(model, STATIC)
    _save(model, prepared)
    reader: Any = CalibrationReader(feeds())  # theirs is a class to inherit from, of which one method is called
    quantization.quantize_static(
        prepared,
        target,
        reader,
        quant_format=quantization.QuantFormat.QDQ,
        op_types_to_quantize=list(STATIC),
        nodes_to_exclude=excluded,
        per_channel=True,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        use_external_data_format=_is_large(prepared),
        extra_options={"OpTypesToExcludeOutputQuantization": ["Gemm", "MatMul"]},
    )
    _tidy(target)


def quantize_dynamic(source: Path, target: Path) -> None:
    """Write to ``target`` the graph of ``source`` with integer weights; a copy is left beside ``source``."""
    import onnx
    from onnxruntime import quantization

    prepared = _prepared(source)
    model = onnx.load(prepared)
    gemms_to_matmuls(model)
    separate_recurrent_weights(model)
    excluded = name_excluded(model, DYNAMIC)
    _save(model, prepared)
    quantization.quantize_dynamic(
        prepared,
        target,
        op_types_to_quantize=list(DYNAMIC),
        nodes_to_exclude=excluded,
        per_channel=True,
        weight_type=quantization.QuantType.QInt8,
        use_external_data_format=_is_large(prepared),
    )
    _tidy(target)


def _prepared(source: Path) -> Path:
    """Write the graph with batch normalisations in their convolutions and shapes inferred, and return where."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared = source.with_name(f"prepared-{source.name}")
    quant_pre_process(source, prepared, skip_symbolic_shape=True, save_as_external_data=_is_large(source))
    _tidy(prepared)
    return prepared


def _tidy(path: Path) -> None:
    """Put the nodes of a graph in order, give values names of their own, and remove operator sets that none needs.

    The tool imports all sets that it knows, and overlooks which values bodies read when it sorts. The runtime's
    optimiser, which prepares the graph, gives constants of a body names that the graph around it has.
    """
    import onnx_ir
    from onnx_ir.passes import common

    model = onnx_ir.load(path)
    common.TopologicalSortPass()(model)
    common.NameFixPass()(model)
    common.RemoveUnusedOpsetsPass()(model)
    onnx_ir.save(model, path)


def _is_large(path: Path) -> bool:
    beside = path.with_name(f"{path.name}.data")
    return path.stat().st_size + (beside.stat().st_size if beside.is_file() else 0) >= _MAX_MESSAGE_BYTES


def _save(model: onnx.ModelProto, path: Path) -> None:
    import onnx

    onnx.save(model, path, save_as_external_data=_is_large(path), location=f"{path.name}.data")
