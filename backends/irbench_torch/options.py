"""Options ``--set torch.KEY=VALUE``, and what a load asks of PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from irbench.spec import Load
from irbench.spi import Refusal

_VALUES: Mapping[str, tuple[str, ...]] = {
    "memory_format": ("contiguous", "channels_last"),
    "mode": ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
}
_FREE: Mapping[str, str] = {"inter_op_threads": "N (at least 1)", "cache_dir": "FOLDER"}
EAGER_OPTIONS = ("inter_op_threads", "memory_format")
COMPILE_OPTIONS = ("cache_dir", "inter_op_threads", "memory_format", "mode")


@dataclass(frozen=True)
class TorchOptions:
    """How a session runs.

    Attributes:
        device: ``cpu`` or ``cuda``.
        precision: As asked for.
        precision_required: Whether another one is refused.
        threads: Of each inference; ``None`` leaves it to PyTorch.
        streams: Inferences in flight.
        inter_op_threads: Threads that run independent operators side by side, where a module asks for that.
        channels_last: Whether images and weights of convolutions lie channels last.
        mode: Of ``torch.compile``; ``None`` where nothing is compiled.
        cache_dir: Where inductor keeps what it compiled; ``None`` for irbench's own folder.
    """

    device: str
    precision: str
    precision_required: bool
    threads: int | None
    streams: int
    inter_op_threads: int
    channels_last: bool
    mode: str | None
    cache_dir: str | None


def options_of(load: Load, device: str, backend: str, *, compiles: bool) -> TorchOptions:
    """Return what a load asks for.

    Raises:
        Refusal: An option is unknown or has an impossible value, or no CPU or GPU computes in that precision.
    """
    known = COMPILE_OPTIONS if compiles else EAGER_OPTIONS
    for key, value in load.options.items():
        if key not in known:
            raise Refusal(
                f"{backend} has no option {key!r}.", hint=f"Known options: {', '.join(map(_written, known))}."
            )
        if value not in _VALUES.get(key, (value,)) or (key == "inter_op_threads" and not _is_positive(value)):
            raise Refusal(f"{key}={value} is not possible.", hint=f"Write {_written(key)}.")
    if load.precision == "int8":
        raise Refusal(
            "PyTorch runs the module as it was exported and does not convert it to int8.",
            hint="Use `--precision fp32` here, and `--optimize int8` for the backends that read ONNX.",
        )
    if load.precision == "fp16" and device == "cpu":
        raise Refusal(
            "PyTorch's autocast to fp16 is for GPUs.", hint="Use `--precision bf16` or `--precision fp32` on the CPU."
        )
    return TorchOptions(
        device=device,
        precision=load.precision,
        precision_required=load.precision_required and load.precision != "native",
        threads=None if load.threads is None else max(1, load.threads // load.streams),
        streams=load.streams,
        inter_op_threads=int(load.options.get("inter_op_threads", "1")),
        channels_last=load.options.get("memory_format") == "channels_last",
        mode=load.options.get("mode", "default") if compiles else None,
        cache_dir=load.options.get("cache_dir"),
    )


def _written(key: str) -> str:
    return f"{key}={_FREE.get(key) or '|'.join(_VALUES[key])}"


def _is_positive(value: str) -> bool:
    return value.isdecimal() and int(value) > 0


def environment_for(options: TorchOptions) -> Mapping[str, str]:
    """Return the variables that must be set before PyTorch is imported."""
    variables = {"CUDA_VISIBLE_DEVICES": ""} if options.device == "cpu" else {"NVIDIA_TF32_OVERRIDE": "0"}
    if options.threads is not None:
        variables |= {"OMP_NUM_THREADS": str(options.threads), "MKL_NUM_THREADS": str(options.threads)}
    if options.mode is not None and options.cache_dir is not None:
        variables["TORCHINDUCTOR_CACHE_DIR"] = options.cache_dir
    return variables
