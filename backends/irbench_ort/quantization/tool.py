"""Calls of ONNX Runtime's quantisation tool, with settings of ours.

Static: convolutions and dense layers between QuantizeLinear and DequantizeLinear (QDQ). Weights by channel and
symmetric, activations by tensor and asymmetric over the least and largest value of the calibration, biases corrected
beforehand. Outputs of dense layers, logits above all, and everything else stay fp32: scores in 256 steps cost the most
accuracy, and sums and pools in integers save little.
Dynamic: weights as integers, activations quantised while they are computed, without calibration.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from irbench.onnx.rewriting.detached_weights import DetachedModel, names_in, used_names
from irbench.onnx.rewriting.unique_names import take_name
from irbench.spi import Array
from irbench_ort.quantization.bias_correction import correct_biases, corrected_inputs
from irbench_ort.quantization.calibration import CalibrationReader, channel_means
from irbench_ort.quantization.dense_layers import gemms_to_matmuls, simplify_gemms
from irbench_ort.quantization.methods import DYNAMIC, STATIC, name_excluded

if TYPE_CHECKING:
    import onnx

_WEIGHT, _BIAS = 1, 2
_WITH_BIAS = frozenset({"Conv", "ConvTranspose", "Gemm"})


def separate_biases(model: onnx.ModelProto) -> None:
    """Write a copy of each bias for every further layer that reads it, and of one that is no vector, in place."""
    from onnx import numpy_helper

    constants = {initializer.name: initializer for initializer in model.graph.initializer}
    taken, seen = names_in(DetachedModel(model, {})), set[str]()
    for node in model.graph.node:
        if node.op_type not in _WITH_BIAS or len(node.input) <= _BIAS or node.input[_BIAS] not in constants:
            continue
        name = node.input[_BIAS]
        bias = numpy_helper.to_array(constants[name])
        vector = _as_vector(bias, node, constants) if node.op_type == "Gemm" else bias
        if name in seen or vector.shape != bias.shape:
            node.input[_BIAS] = take_name(f"{name}_copy", taken)
            model.graph.initializer.append(numpy_helper.from_array(vector, node.input[_BIAS]))
        seen.add(name)
    unread = seen.difference(used_names(model.graph))
    kept = [initializer for initializer in model.graph.initializer if initializer.name not in unread]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)


def _as_vector(bias: Array, node: onnx.NodeProto, constants: dict[str, onnx.TensorProto]) -> Array:
    """Return the bias of a ``Gemm`` with one number for each output; as it is where rows have biases of their own."""
    weight = constants.get(node.input[_WEIGHT])
    if weight is None or (bias.ndim == 2 and bias.shape[0] > 1):
        return bias
    is_transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
    outputs = weight.dims[0 if is_transposed else 1]
    return np.ascontiguousarray(np.broadcast_to(bias.reshape(-1), (outputs,)))


_WEIGHTS = (1, 2)


def separate_recurrent_weights(model: onnx.ModelProto) -> None:
    """Write a copy of weights for each LSTM of the main graph that shares them with another reader, in place."""
    constants = {initializer.name: initializer for initializer in model.graph.initializer}
    taken, readers = names_in(DetachedModel(model, {})), Counter(used_names(model.graph))
    for node in model.graph.node:
        for place in _WEIGHTS if (node.domain, node.op_type) == ("", "LSTM") else ():
            name = node.input[place]
            if name not in constants or readers[name] == 1:
                continue
            copy = model.graph.initializer.add()
            copy.CopyFrom(constants[name])
            copy.name = node.input[place] = take_name(f"{name}_copy", taken)
            readers[name] -= 1


_MAX_MESSAGE_BYTES = 1 << 31
"""What one protobuf message can hold."""

_NO_SCALE = "scale issue"
"""What the tool says where the range of a value is not a number."""


class NotANumber(Exception):
    """A value that needs a scale is not a number on any input of the calibration."""

    def __init__(self) -> None:
        super().__init__("on every calibration input, a value that needs a scale is NaN")


def quantize_static(
    source: Path, target: Path, feeds: Callable[[], Iterator[Mapping[str, Array]]], weight_bits: int = 8
) -> None:
    """Write to ``target`` the graph of ``source``; copies are left beside ``source``.

    Args:
        source: A graph in fp32.
        target: In another folder.
        feeds: Starts the calibration's inputs from the beginning: arrays by the names of the graph's inputs.
        weight_bits: How many bits of a weight are used, 7 or 8.

    Raises:
        NotANumber: A value that needs a scale has none.
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
    with _ranges_are_numbers():
        quantization.quantize_static(
            prepared,
            target,
            reader,
            quant_format=quantization.QuantFormat.QDQ,
            op_types_to_quantize=list(STATIC),
            nodes_to_exclude=excluded,
            per_channel=True,
            reduce_range=weight_bits < 8,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            use_external_data_format=is_large(prepared),
            extra_options={"OpTypesToExcludeOutputQuantization": ["Gemm", "MatMul"]},
        )
    _tidy(target)
    _restate_outputs(target, source)


def quantize_dynamic(source: Path, target: Path, weight_bits: int = 8) -> None:
    """Write to ``target`` the graph of ``source`` with weights of 7 or 8 bits; a copy is left beside ``source``."""
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
        reduce_range=weight_bits < 8,
        weight_type=quantization.QuantType.QInt8,
        use_external_data_format=is_large(prepared),
    )
    _tidy(target)
    _restate_outputs(target, source)


@contextmanager
def _ranges_are_numbers() -> Iterator[None]:
    """Say what is wrong where the tool finds no scale; NumPy warns of it beforehand."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)
        try:
            yield
        except AssertionError as problem:
            if str(problem) != _NO_SCALE:
                raise
            raise NotANumber from problem


def _prepared(source: Path) -> Path:
    """Write the graph with batch normalisations in their convolutions and shapes inferred, and return where."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared = source.with_name(f"prepared-{source.name}")
    quant_pre_process(source, prepared, skip_symbolic_shape=True, save_as_external_data=is_large(source))
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


def _restate_outputs(target: Path, source: Path) -> None:
    """Give the outputs of a graph the sizes that those of another one state.

    The tool writes what ONNX infers, which may be a number where the model has a name for a dynamic dimension.
    """
    import onnx

    made, stated = (onnx.load(path, load_external_data=False) for path in (target, source))
    del made.graph.output[:]
    made.graph.output.extend(stated.graph.output)
    onnx.save(made, target)


def is_large(path: Path) -> bool:
    """Tell whether a model and the data beside it are too large for one message."""
    beside = path.with_name(f"{path.name}.data")
    return path.stat().st_size + (beside.stat().st_size if beside.is_file() else 0) >= _MAX_MESSAGE_BYTES


def _save(model: onnx.ModelProto, path: Path) -> None:
    import onnx

    onnx.save(model, path, save_as_external_data=is_large(path), location=f"{path.name}.data")
