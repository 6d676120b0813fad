"""The precision a session computes in.

ONNX Runtime computes in what the graph holds, and where it has no kernel for that, in fp32 between
inserted casts, without a word. A graph that is all fp32 leaves no such choice; of any other the
optimised graph is written out and read, because only it shows what the weights became, and
whether operations between quantisers became integer operations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from irbench.onnx.reading.precision import GraphPrecision, read_precision
from irbench.spec import Precision
from irbench.spi import Refusal

__all__ = ["must_be_read_back", "read_back", "require", "write_optimised_graph"]

_CHOSEN_BY_RUNTIME = ("fp8", "bf16", "fp16", "int8")


def require(graph: GraphPrecision, asked: Precision) -> None:
    """Refuse a precision other than the graph's own.

    Raises:
        Refusal: The graph holds another one.
    """
    held = graph.narrowest
    if asked in ("native", held):
        return
    if held == "fp32":
        raise Refusal(
            f"ONNX Runtime computes in {asked} only if the graph was converted to {asked}; this one is fp32.",
            hint=f"Measure it converted: --optimize {asked}. Or convert it: irbench optimize MODEL --precision {asked}",
        )
    raise Refusal(
        f"This graph is {held}, and ONNX Runtime cannot run it in {asked}.",
        hint="Use --precision native, or the graph it was converted from.",
    )


def must_be_read_back(graph: GraphPrecision) -> bool:
    """Whether the runtime may choose to compute this graph in something else."""
    return graph.narrowest in _CHOSEN_BY_RUNTIME


def write_optimised_graph(settings: Any, path: Path) -> None:
    """Have the session write the graph it will run to ``path``, its weights beside it."""
    settings.optimized_model_filepath = str(path)
    for key, value in (("file_name", f"{path.name}.weights"), ("min_size_in_bytes", "1024")):
        settings.add_session_config_entry(f"session.optimized_model_external_initializers_{key}", value)


def read_back(graph: GraphPrecision, written: Path | None) -> str:
    """Return what the session computes in, from the graph it wrote where it wrote one.

    A graph that is quantised around floating-point operations computes in fp32 unless the runtime made integer
    operations of them.
    """
    if written is None:
        return graph.narrowest
    computed = read_precision(written)
    return "fp32" if graph.quantised and not computed.multiplies_integers else computed.dominant
