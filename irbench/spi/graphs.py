"""What makes other graphs: passes of the optimiser, and quantizers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from irbench.spi.backend import Array, Description

if TYPE_CHECKING:
    import onnx_ir as ir

QuantizationMethod: TypeAlias = Literal["static", "dynamic"]
"""``static`` calibrates the range of each activation beforehand; ``dynamic`` finds it while the graph runs."""


class Pass(Protocol):
    """One step of the optimiser: rewrites a graph.

    A pass never changes what a graph computes beyond rounding, nor its signature. It states its rewrite rules,
    numbered, in the docstring of its module, and applies them until none fits. A pass that finds nothing to do, or
    whose precondition does not hold, leaves the graph alone and answers ``False``.
    """

    @property
    def name(self) -> str:
        """What ``--passes`` takes; also the name of its entry point and of its file."""
        ...

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        ...

    @property
    def vendor(self) -> str | None:
        """Domain of the operators it may write that are not ONNX's own (``com.microsoft``); ``None`` if portable."""
        ...

    @property
    def opset(self) -> int:
        """Least version of ONNX's operator set that it needs; below that it changes nothing."""
        ...

    def __call__(self, model: ir.Model, /) -> bool:
        """Rewrite ``model`` in place and say whether anything changed."""
        ...


@dataclass(frozen=True)
class QuantizationRequest:
    """Everything a quantizer needs to write a graph.

    Attributes:
        source: A valid graph in fp32, of opset 13 or later; other files may be left beside it.
        target: Where the result goes, in another folder.
        method: How it is quantised.
        calibration: Starts the calibration's inputs from the beginning: arrays by the names of the graph's inputs. May
            be called several times; ``dynamic`` has no use for it.
        weight_bits: How many bits of an int8 weight may be used; 7 where the processor adds products of bytes in 16
            bits, which overflow otherwise.
    """

    source: Path
    target: Path
    method: QuantizationMethod
    calibration: Callable[[], Iterator[Mapping[str, Array]]]
    weight_bits: Literal[7, 8]


class Quantizer(Protocol):
    """Makes graphs with int8 weights out of graphs in fp32, by the tool of a runtime."""

    @property
    def name(self) -> str:
        """The name of its entry point."""
        ...

    def describe(self) -> Description:
        """Say which tool is installed from metadata alone; imports no runtime."""
        ...

    def suitable_method(self, source: Path, /) -> QuantizationMethod | None:
        """Return the method that suits a graph, ``None`` where nothing in it can be quantised. Runs in a worker."""
        ...

    def quantize(self, request: QuantizationRequest, /) -> None:
        """Write the graph; inputs and outputs stay fp32. Runs in a worker; any exception is shown to the user."""
        ...
