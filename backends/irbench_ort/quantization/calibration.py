"""What a graph computes on the inputs of a calibration: the reader of ONNX Runtime's tool, and means by channel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irbench.spi import Array


class CalibrationReader:
    """What ONNX Runtime's calibration asks for its inputs.

    Args:
        feeds: Arrays by the names of the graph's inputs.
    """

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
    import onnx
    import onnxruntime

    model = onnx.load(path, load_external_data=False)
    inner = [name for name in names if name not in {tensor.name for tensor in model.graph.input}]
    known = {tensor.name for tensor in model.graph.output}
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in inner if name not in known)
    copy = path.with_name(f"more-outputs-{path.name}")
    onnx.save(model, copy)
    return onnxruntime.InferenceSession(str(copy), providers=["CPUExecutionProvider"]), inner
