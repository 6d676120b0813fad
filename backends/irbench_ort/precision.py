"""The precision a session computes in.

ONNX Runtime computes in what the graph holds, and where it has no kernel for that, in fp32 between
inserted casts, without a word. A graph that is all fp32 leaves no such choice; of any other the
optimised graph is written out and read, because only it shows what the weights became, and
whether operations between quantisers became integer operations.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from irbench.onnx.reading.precision import GraphPrecision, read_precision
from irbench.spec import Artifact, Load, Precision
from irbench.spi import Refusal

_CHOSEN_BY_RUNTIME = ("fp8", "bf16", "fp16", "int8")


def require_convertible(graph: GraphPrecision, asked: Precision, computes: Callable[[Precision], bool]) -> None:
    """Refuse to compute a graph of fp32 in something else."""
    if _is_conversion(graph.narrowest, asked) and asked != "int8" and not computes(asked):
        raise Refusal(f"ONNX Runtime has no {asked} kernels on this device.", hint="Use --precision fp32.")
    refuse_conversion(graph.narrowest, asked)


def refuse_conversion(held: str, asked: Precision) -> None:
    """Refuse a precision that the runtime would have to convert a graph of fp32 to."""
    if not _is_conversion(held, asked):
        return
    raise Refusal(
        f"ONNX Runtime computes in {asked} only if the graph was converted to {asked}; this one is fp32.",
        hint=f"Measure a file that irbench optimize --precision {asked} wrote, or let irbench run convert the graph:"
        f" --optimize {asked}",
    )


def _is_conversion(held: str, asked: Precision) -> bool:
    return held == "fp32" and asked not in ("native", "fp32")


def require_computed(computed: str, artifact: Artifact, load: Load, device: str) -> None:
    """Refuse a precision that the session does not compute in; what it computes in can be asked for."""
    if not load.precision_required or load.precision in ("native", computed):
        return
    possible = computed if computed in get_args(Precision) else "native"
    converted = artifact.variant.endswith(load.precision) and bool(artifact.variant)
    raise Refusal(
        f"ONNX Runtime computes this graph in {computed} on {device}, not in {load.precision}.",
        hint=f"Leave {artifact.variant} out of --optimize." if converted else f"Use --precision {possible}.",
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
