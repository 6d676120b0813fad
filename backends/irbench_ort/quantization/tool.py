"""Calls of ONNX Runtime's quantisation tool, with settings of ours, and biases that are corrected for them.

Rounding weights to int8 brings a mean error into the outputs of convolutions. It shifts each output channel by the sum
of the rounding errors of its weights, times the input. The mean of that over typical inputs is subtracted from the
bias: b' = b - (round(W) - W) * E[x]. (Nagel et al., Data-Free Quantization Through Weight Equalization and Bias
Correction, ICCV 2019, section 4.2; here E[x] is measured. Padding is treated as more input of the same mean; the error
of that is of second order.)

Static: convolutions and dense layers between QuantizeLinear and DequantizeLinear (QDQ). Weights by channel and
symmetric, activations by tensor and asymmetric over the least and largest value of the calibration, biases corrected
beforehand. Outputs of dense layers, logits above all, and everything else stay fp32: scores in 256 steps cost the most
accuracy, and sums and pools in integers save little.
Dynamic: weights as integers, activations quantised while they are computed, without calibration.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir
import onnxruntime
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx_ir.passes import common
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

from irbench.onnx.rewriting.detached_weights import DetachedModel, names_in, take_name, used_names
from irbench.spi import Array, QuantizationMethod
from irbench_ort.quantization.dense_layers import gemms_to_matmuls, simplify_gemms

STATIC = ("Conv", "Gemm", "MatMul", "Relu", "Clip")
"""A Relu or Clip behind one of the others becomes a part of its quantiser."""

DYNAMIC = ("Attention", "Gemm", "LSTM", "MatMul")
"""``Attention`` is that of the runtime, which holds the weights of its projections."""

_CONTRIBUTED = {"Attention": "com.microsoft"}
"""The domain of an operator that is not ONNX's own."""


def suitable_method(source: Path) -> QuantizationMethod | None:
    """Return which method suits a graph: static where most operators that have weights are convolutions.

    ``None`` where no operator has any, so that nothing can be quantised.
    """
    graph = onnx.load(source, load_external_data=False).graph
    axes = _axes_of_constants(graph)
    weighted = [node.op_type for node in graph.node if axes.keys() & set(node.input) and not _is_excluded(node, axes)]
    convolutions = weighted.count("Conv")
    others = sum(weighted.count(op_type) for op_type in DYNAMIC)
    if not convolutions + others:
        return None
    return "static" if convolutions >= others else "dynamic"


def _name_excluded(model: onnx.ModelProto, operators: Collection[str]) -> list[str]:
    axes, taken = _axes_of_constants(model.graph), {node.name for node in model.graph.node}
    excluded = [node for node in model.graph.node if node.op_type in operators and _is_excluded(node, axes)]
    for node in excluded:
        node.name = take_name(f"{node.op_type}_in_fp32", taken)
    return [node.name for node in excluded]


def _is_excluded(node: onnx.NodeProto, axes: Mapping[str, int]) -> bool:
    """Whether a node has only the name of an operator that is quantised, or weights that no kernel takes.

    The tool does not look at domains. Where the weights of a MatMul are not a matrix, it gives them scales along an
    axis that the runtime's kernels refuse.
    """
    if (node.domain or "ai.onnx") != _CONTRIBUTED.get(node.op_type, "ai.onnx"):
        return True
    return node.op_type == "MatMul" and axes.get(node.input[1], 2) != 2


def _axes_of_constants(graph: onnx.GraphProto) -> dict[str, int]:
    axes = {initializer.name: len(initializer.dims) for initializer in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            axes[node.output[0]] = sum(len(attribute.t.dims) for attribute in node.attribute)
    return axes


class CalibrationReader:
    """What ONNX Runtime's calibration asks for its inputs."""

    def __init__(self, feeds: Iterator[Mapping[str, Array]]) -> None:
        self._feeds = feeds

    def get_next(self) -> dict[str, Array] | None:
        """Return the next inputs, ``None`` after the last."""
        feed = next(self._feeds, None)
        return None if feed is None else dict(feed)


def channel_means(path: Path, names: Sequence[str], feeds: Iterable[Mapping[str, Array]]) -> dict[str, Array]:
    """Return the mean by channel of values of a graph over all feeds: float64 (channels,) each.

    Elements that are not finite do not count, where the others of a channel say what is typical of it; of a channel
    without any other the mean is 0.

    Args:
        path: The graph; a copy with more outputs is left beside it.
        names: Inputs of the graph and inner values, each (batch, channels, ...).
        feeds: Arrays by the names of the graph's inputs.
    """
    session, inner = _session_with_outputs(path, names)
    sums = {name: np.zeros(1) for name in names}
    counts = {name: np.zeros(1) for name in names}
    for feed in feeds:
        computed = session.run(inner, dict(feed)) if inner else []
        values = {**feed, **dict(zip(inner, computed, strict=True))}
        for name in names:
            axes = (0, *range(2, values[name].ndim))
            finite = np.isfinite(values[name])
            sums[name] = sums[name] + values[name].sum(axis=axes, dtype=np.float64, where=finite)
            counts[name] = counts[name] + finite.sum(axis=axes)
    return {name: total / np.maximum(counts[name], 1) for name, total in sums.items()}


def _session_with_outputs(path: Path, names: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a session that answers inner values of a graph, and which of ``names`` are such: not its inputs."""
    model = onnx.load(path, load_external_data=False)
    inner = [name for name in names if name not in {tensor.name for tensor in model.graph.input}]
    known = {tensor.name for tensor in model.graph.output}
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in inner if name not in known)
    copy = path.with_name(f"more-outputs-{path.name}")
    onnx.save(model, copy)
    return onnxruntime.InferenceSession(str(copy), providers=["CPUExecutionProvider"]), inner


def corrected_inputs(model: onnx.ModelProto) -> tuple[str, ...]:
    """Return the inputs of convolutions whose means :func:`correct_biases` needs, each once: (batch, channels, ...)."""
    return tuple(dict.fromkeys(node.input[0] for node, _, _ in _convolutions(model)))


def correct_biases(model: onnx.ModelProto, means: Mapping[str, Array]) -> None:
    """Change the biases of a graph in fp32, before its weights are rounded.

    ``means`` has the mean of each value of :func:`corrected_inputs` by channel, (channels,).
    """
    for node, weight, bias in _convolutions(model):
        error = _rounding_error(numpy_helper.to_array(weight))
        groups = next((attribute.i for attribute in node.attribute if attribute.name == "group"), 1)
        by_group = np.asarray(means[node.input[0]], np.float64).reshape(groups, -1)
        by_output = np.repeat(by_group, len(error) // groups, axis=0)
        corrected = numpy_helper.to_array(bias) - (error * by_output).sum(axis=1)
        bias.CopyFrom(numpy_helper.from_array(corrected.astype(np.float32), bias.name))


_LARGEST = 127


def _rounding_error(weight: Array) -> NDArray[np.float64]:
    """Return round(W) - W of a kernel, summed over its window: float64 (outputs, inputs of a group)."""
    kernel = weight.astype(np.float64).reshape(*weight.shape[:2], -1)
    steps = np.abs(kernel).max(axis=(1, 2), keepdims=True) / _LARGEST
    steps[steps == 0] = 1
    error: NDArray[np.float64] = (np.round(kernel / steps) * steps - kernel).sum(axis=2)
    return error


def _convolutions(model: onnx.ModelProto) -> Iterator[tuple[onnx.NodeProto, onnx.TensorProto, onnx.TensorProto]]:
    """Yield every convolution with its weight and a bias that nothing else reads."""
    constants = {initializer.name: initializer for initializer in model.graph.initializer}
    readers = Counter(name for node in model.graph.node for name in node.input)
    for node in model.graph.node:
        if node.domain or node.op_type != "Conv" or len(node.input) < 3:
            continue
        weight, bias = (constants.get(name) for name in node.input[1:3])
        if weight is not None and bias is not None and readers[bias.name] == 1:
            yield node, weight, bias


_BIAS = 2
_WITH_BIAS = frozenset({"Conv", "ConvTranspose", "Gemm"})


def _separate_biases(model: onnx.ModelProto) -> None:
    """Write a copy of each bias for every further layer that reads it, and of one that is not a vector, in place."""
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


_WEIGHT = 1


def _as_vector(bias: Array, node: onnx.NodeProto, constants: dict[str, onnx.TensorProto]) -> Array:
    """Return the bias of a ``Gemm`` with one number for each output; as it is where rows have biases of their own."""
    weight = constants.get(node.input[_WEIGHT])
    if weight is None or (bias.ndim == 2 and bias.shape[0] > 1):
        return bias
    is_transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
    outputs = weight.dims[0 if is_transposed else 1]
    return np.array(np.broadcast_to(bias.reshape(-1), (outputs,)))


_WEIGHTS = (1, 2)


def _separate_recurrent_weights(model: onnx.ModelProto) -> None:
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


class NotANumber(Exception):
    """A value that needs a scale is not a number on any input of the calibration."""

    def __init__(self) -> None:
        super().__init__("on every calibration input, a value that needs a scale is NaN")


def quantize_static(
    source: Path, target: Path, feeds: Callable[[], Iterator[Mapping[str, Array]]], weight_bits: int
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
    prepared = _prepared(source)
    model = onnx.load(prepared)
    simplify_gemms(model)
    _separate_biases(model)
    if names := corrected_inputs(model):
        correct_biases(model, channel_means(prepared, names, feeds()))
    excluded = _name_excluded(model, STATIC)
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


def quantize_dynamic(source: Path, target: Path, weight_bits: int) -> None:
    """Write to ``target`` the graph of ``source`` with weights of 7 or 8 bits; a copy is left beside ``source``."""
    prepared = _prepared(source)
    model = onnx.load(prepared)
    gemms_to_matmuls(model)
    _separate_recurrent_weights(model)
    excluded = _name_excluded(model, DYNAMIC)
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


_NO_SCALE = "scale issue"
"""What the tool says where the range of a value is not a number."""


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
    prepared = source.with_name(f"prepared-{source.name}")
    quant_pre_process(source, prepared, skip_symbolic_shape=True, save_as_external_data=is_large(source))
    _tidy(prepared)
    return prepared


def _tidy(path: Path) -> None:
    """Put the nodes of a graph in order, give values names of their own, and remove operator sets that none needs.

    The tool imports all sets that it knows, and overlooks which values bodies read when it sorts. The runtime's
    optimiser, which prepares the graph, gives constants of a body names that the graph around it has.
    """
    model = onnx_ir.load(path)
    common.TopologicalSortPass()(model)
    common.NameFixPass()(model)
    common.RemoveUnusedOpsetsPass()(model)
    onnx_ir.save(model, path)


def _restate_outputs(target: Path, source: Path) -> None:
    """Give the outputs of a graph the sizes that those of another one state.

    The tool writes what ONNX infers, which may be a number where the model has a name for a dynamic dimension.
    """
    quantised, stated = (onnx.load(path, load_external_data=False) for path in (target, source))
    del quantised.graph.output[:]
    quantised.graph.output.extend(stated.graph.output)
    onnx.save(quantised, target)


_MAX_MESSAGE_BYTES = 1 << 31
"""What one protobuf message can hold."""


def is_large(path: Path) -> bool:
    """Tell whether a model and the data beside it are too large for one message."""
    beside = path.with_name(f"{path.name}.data")
    return path.stat().st_size + (beside.stat().st_size if beside.is_file() else 0) >= _MAX_MESSAGE_BYTES


def _save(model: onnx.ModelProto, path: Path) -> None:
    onnx.save(model, path, save_as_external_data=is_large(path), location=f"{path.name}.data")
