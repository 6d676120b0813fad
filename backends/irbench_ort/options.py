"""The options a user may set (``--set ort.KEY=VALUE``), and what each becomes.

ONNX Runtime accepts any configuration key without a word and ignores those it does not know, so the
keys are listed here and everything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irbench.core.suggestions import did_you_mean
from irbench.spec import Precision
from irbench.spi import Refusal
from irbench_ort import openvino_provider

_LEVELS = ("disabled", "basic", "extended", "all")
_ATTRIBUTES = ("enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse", "use_deterministic_compute")
_SWITCHES = (
    "disable_aot_function_inlining", "disable_double_qdq_remover", "disable_prepacking", "disable_quant_qdq",
    "enable_quant_qdq_cleanup", "force_spinning_stop", "intra_op.allow_spinning", "qdqisint8allowed",
    "set_denormal_as_zero", "use_device_allocator_for_initializers", "use_env_allocators", "x64quantprecision",
)  # fmt: skip
_NUMBERS = ("dynamic_block_base", "intra_op.spin_backoff_max", "intra_op.spin_duration_us")
_TEXTS = ("intra_op_thread_affinities",)
_OPTIMISERS = ("optimization.disable_specified_optimizers", "optimization.enable_gelu_approximation")
_PROVIDER = (
    "arena_extend_strategy", "cudnn_conv1d_pad_to_nc1d", "cudnn_conv_algo_search", "cudnn_conv_use_max_workspace",
    "do_copy_in_default_stream", "enable_cuda_graph", "gpu_mem_limit", "prefer_nhwc", "use_tf32",
)  # fmt: skip
_LEVEL = "graph_optimization_level"
_CUDA = "cuda."
_OPENVINO = "openvino."
_DEVICE_OF = {_CUDA: "cuda", _OPENVINO: "openvino"}
"""By what a key begins with: the only device that has it."""

KNOWN = tuple(
    sorted(
        (
            *(_LEVEL, *_ATTRIBUTES, *_SWITCHES, *_NUMBERS, *_TEXTS, *_OPTIMISERS),
            *(_CUDA + key for key in _PROVIDER),
            *(_OPENVINO + key for key in openvino_provider.OPTIONS),
        )
    )
)
"""Every key that may be set."""

_GRAPH = "enable_cuda_graph"
TUNABLE = {
    # whether idle threads of the pool spin: worth it where calls follow each other, a loss where they share processors
    "cpu": {"intra_op.allow_spinning": ("0",)},
    "cuda": {_CUDA + "cudnn_conv_algo_search": ("HEURISTIC",), _CUDA + _GRAPH: ("1",), _CUDA + "prefer_nhwc": ("1",)},
}
"""What is worth trying on each device."""

BOUND = (_CUDA + _GRAPH,)
"""What needs inputs and outputs that stay bound."""

RESERVED = {"intra_op_num_threads": "--threads", "inter_op_num_threads": "--threads", "execution_mode": "--streams"}
"""Keys that irbench sets itself, with the argument that each follows."""

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class OrtOptions:
    """What the user's options mean to ONNX Runtime.

    Attributes:
        level: Graph optimisation level by name; ``None`` for the backend's own.
        provider: Options of the execution provider of CUDA or OpenVINO.
    """

    level: str | None = None
    attributes: tuple[tuple[str, bool], ...] = ()
    config_entries: tuple[tuple[str, str], ...] = ()
    provider: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def replays(self) -> bool:
        """Whether inferences are replayed from a CUDA graph, which holds one inference and its addresses."""
        return self.provider.get(_GRAPH, "").lower() in _TRUE


def parse_options(options: Mapping[str, str], device: str, precision: Precision) -> OrtOptions:
    """Return what ``options`` means."""
    for key in options:
        _require_known(key, device)
    if precision != "native" and "cuda.use_tf32" in options:
        raise Refusal(
            f"cuda.use_tf32 conflicts with `--precision {precision}`, which sets it.", hint="Use `--precision native`."
        )
    level = options.get(_LEVEL)
    if level is not None and level not in _LEVELS:
        raise _bad_value(_LEVEL, level, " or ".join(_LEVELS))
    return OrtOptions(
        level,
        tuple((key, _switch(key, options[key])) for key in _ATTRIBUTES if key in options),
        tuple(_entry(key, text) for key, text in options.items() if _is_entry(key)),
        {key.partition(".")[2]: text for key, text in options.items() if key.startswith(tuple(_DEVICE_OF))},
    )


def _require_known(key: str, device: str) -> None:
    if key in RESERVED:
        raise Refusal(f"{key} is set by irbench itself.", hint=f"Use {RESERVED[key]}.")
    for beginning, only in _DEVICE_OF.items():
        if key.startswith(beginning) and device != only:
            own = "the CPU" if device == "cpu" else f"ort:{device}"
            raise Refusal(f"{key} is an option of ort:{only}, not of {own}.", hint=f"Leave ort.{key} out.")
    if key not in KNOWN:
        hint = f"{did_you_mean(key, KNOWN)}Known: {', '.join(KNOWN)}."
        raise Refusal(f"ONNX Runtime has no option '{key}'.", hint=hint)


def _is_entry(key: str) -> bool:
    return key in _SWITCHES or key in _NUMBERS or key in _TEXTS or key in _OPTIMISERS


def _entry(key: str, text: str) -> tuple[str, str]:
    full = key if key in _OPTIMISERS else f"session.{key}"
    if key in _SWITCHES or key == "optimization.enable_gelu_approximation":
        return full, str(int(_switch(key, text)))
    if key in _NUMBERS and not text.isdigit():
        raise _bad_value(key, text, "a whole number")
    return full, text


def _switch(key: str, text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise _bad_value(key, text, "0 or 1")


def _bad_value(key: str, text: str, expected: str) -> Refusal:
    return Refusal(f"Option {key} cannot be '{text}'.", hint=f"Use {expected}.")
