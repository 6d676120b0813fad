"""Quantise a graph to int8 with ONNX Runtime's own tool, which writes operators that other runtimes read too.

Static: convolutions and dense layers between QuantizeLinear and DequantizeLinear (QDQ). Weights by channel and
symmetric, activations by tensor and asymmetric over the least and largest value of the calibration, biases corrected
beforehand. What dense layers answer, logits above all, and everything else stay fp32: scores in 256 steps were seen to
cost the most accuracy, and sums and pools in integers save little.
Dynamic: weights as integers, activations quantised while they are computed, without calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from irbench.optimizer.convert.correct_bias import correct_biases, watched
from irbench.spi import Array

if TYPE_CHECKING:
    import onnx

__all__ = ["DYNAMIC", "STATIC", "Method", "method_for", "quantize_dynamic", "quantize_static"]

Method = Literal["static", "dynamic"]
Feeds = Callable[[], Iterator[Mapping[str, Array]]]
"""Begins the calibration's inputs anew: arrays by the names of the graph's inputs."""

_MULTIPLYING = ("Conv", "Gemm", "MatMul")
STATIC = (*_MULTIPLYING, "Relu", "Clip")
"""A Relu or Clip behind one of the others becomes a part of its quantiser."""
DYNAMIC = ("Attention", "Gemm", "LSTM", "MatMul")
_MOST_BYTES = 1 << 31
"""What one protobuf message can hold."""


def method_for(source: Path) -> Method | None:
    """Return which method suits a graph: static where most operations that have weights are convolutions.

    ``None`` where there are no such operations, so that nothing can be quantised.
    """
    import onnx

    graph = onnx.load(source, load_external_data=False).graph
    constants = {initializer.name for initializer in graph.initializer}
    constants.update(*(node.output for node in graph.node if node.op_type == "Constant"))
    weighted = [node.op_type for node in graph.node if constants.intersection(node.input)]
    convolutions = weighted.count("Conv")
    others = sum(weighted.count(item) for item in DYNAMIC)
    if not convolutions + others:
        return None
    return "static" if convolutions >= others else "dynamic"


def quantize_static(source: Path, target: Path, feeds: Feeds) -> None:
    """Write to ``target`` the graph of ``source``, calibrated on ``feeds``; copies are left beside ``source``."""
    import onnx
    from onnxruntime import quantization

    prepared = _prepared(source)
    model = onnx.load(prepared)
    if names := watched(model):
        correct_biases(model, _means(prepared, names, feeds()))
        _save(model, prepared)
    reader: Any = _Reader(feeds())  # theirs is a class to inherit from, of which one method is called
    quantization.quantize_static(
        prepared,
        target,
        reader,
        quant_format=quantization.QuantFormat.QDQ,
        op_types_to_quantize=list(STATIC),
        per_channel=True,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        use_external_data_format=_is_large(prepared),
        extra_options={"OpTypesToExcludeOutputQuantization": ["Gemm", "MatMul"]},
    )
    _drop_unused_imports(target)


def quantize_dynamic(source: Path, target: Path) -> None:
    """Write to ``target`` the graph of ``source`` with integer weights; a copy is left beside ``source``."""
    from onnxruntime import quantization

    prepared = _prepared(source)
    quantization.quantize_dynamic(
        prepared,
        target,
        op_types_to_quantize=list(DYNAMIC),
        per_channel=True,
        weight_type=quantization.QuantType.QInt8,
        use_external_data_format=_is_large(prepared),
    )
    _drop_unused_imports(target)


class _Reader:
    """What ONNX Runtime's calibration asks for its inputs."""

    def __init__(self, feeds: Iterator[Mapping[str, Array]]) -> None:
        self._feeds = feeds

    def get_next(self) -> dict[str, Array] | None:
        feed = next(self._feeds, None)
        return None if feed is None else dict(feed)


def _prepared(source: Path) -> Path:
    """Write the graph with batch normalisations in their convolutions and shapes inferred, and return where."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared = source.with_name(f"prepared-{source.name}")
    quant_pre_process(source, prepared, skip_symbolic_shape=True, save_as_external_data=_is_large(source))
    return prepared


def _drop_unused_imports(path: Path) -> None:
    """Take from a graph the operator sets that none of its nodes needs: the runtime's tool imports all it knows."""
    import onnx_ir
    from onnx_ir.passes import common

    model = onnx_ir.load(path)
    common.RemoveUnusedOpsetsPass()(model)
    onnx_ir.save(model, path)


def _means(path: Path, names: Sequence[str], feeds: Iterable[Mapping[str, Array]]) -> dict[str, Array]:
    """Return the mean by channel of inner values over all feeds: float64 (channels,) each."""
    session, inner = _watching(path, names)
    sums = {name: np.zeros(1) for name in names}
    count = 0
    for feed in feeds:
        found = session.run(inner, dict(feed)) if inner else []
        values = {**feed, **dict(zip(inner, found, strict=True))}
        for name in names:
            axes = (0, *range(2, values[name].ndim))
            sums[name] = sums[name] + values[name].mean(axis=axes, dtype=np.float64)
        count += 1
    return {name: total / count for name, total in sums.items()}


def _watching(path: Path, names: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a session that answers inner values of a graph, and which of ``names`` are such: not its inputs."""
    import onnx
    import onnxruntime

    model = onnx.load(path, load_external_data=False)
    inner = [name for name in names if name not in {tensor.name for tensor in model.graph.input}]
    known = {tensor.name for tensor in model.graph.output}
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(item) for item in inner if item not in known)
    watched_path = path.with_name(f"watched-{path.name}")
    onnx.save(model, watched_path)
    return onnxruntime.InferenceSession(str(watched_path), providers=["CPUExecutionProvider"]), inner


def _is_large(path: Path) -> bool:
    beside = path.with_name(f"{path.name}.data")
    return path.stat().st_size + (beside.stat().st_size if beside.is_file() else 0) >= _MOST_BYTES


def _save(model: onnx.ModelProto, path: Path) -> None:
    import onnx

    onnx.save(model, path, save_as_external_data=_is_large(path), location=f"{path.name}.data")
