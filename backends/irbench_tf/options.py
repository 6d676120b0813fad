"""Options ``--set tf.KEY=VALUE``, validated before anything is loaded, and the environment variables that they need."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from irbench.spec import Load
from irbench.spi import Refusal
from irbench_tf.precision import NARROW_ENVIRONMENT

Grappler = Literal["remap", "all", "off"]
Loops = Literal["lowered", "functional"]


@dataclass(frozen=True)
class TensorFlowOptions:
    """Settings besides the load's.

    Attributes:
        onednn: Whether oneDNN kernels are used; ``None`` leaves it to the build.
        grappler: Rewriting at load: ``remap`` fuses neighbours (the rest was done at export),
            ``all`` repeats every rewriting, ``off`` does none.
        inter_op_threads: Threads that run independent operations side by side;
            ``None`` runs each inference on its caller's thread.
        loops: Whether loops are spread out among the other operations, as ``tf.function`` does, or
            called as functions; XLA decides for itself.
        gpu_thread_mode: Who runs GPU kernels' host side; ``None`` is TensorFlow's own.
    """

    onednn: bool | None = None
    grappler: Grappler = "remap"
    inter_op_threads: int | None = None
    loops: Loops = "lowered"
    gpu_thread_mode: str | None = None


def parse_options(options: Mapping[str, str], backend: str) -> TensorFlowOptions:
    """Return the settings that the user's words stand for."""
    unknown = sorted(set(options) - set(KNOWN))
    if unknown:
        raise Refusal(
            f"{backend} has no option {unknown[0]!r}.",
            hint="Known options: " + ", ".join(f"{key}={words}" for key, (words, _) in sorted(KNOWN.items())) + ".",
        )
    return TensorFlowOptions(
        onednn=None if "onednn" not in options else bool(_parse("onednn", options)),
        grappler=cast("Grappler", _parse("grappler", options) if "grappler" in options else "remap"),
        loops=cast("Loops", _parse("loops", options) if "loops" in options else "lowered"),
        inter_op_threads=None if "inter_op_threads" not in options else int(_parse("inter_op_threads", options)),
        gpu_thread_mode=None if "gpu_thread_mode" not in options else str(_parse("gpu_thread_mode", options)),
    )


def _parse(key: str, options: Mapping[str, str]) -> str | int:
    words, convert = KNOWN[key]
    try:
        return convert(options[key])
    except ValueError:
        raise Refusal(f"{key}={options[key]} is not possible.", hint=f"Write {key}={words}.") from None


def _one_of(*values: str) -> Callable[[str], str]:
    def convert(value: str) -> str:
        if value not in values:
            raise ValueError(value)
        return value

    return convert


def _switch(value: str) -> int:
    return int(_one_of("0", "1")(value))


def _positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise ValueError(value)
    return number


KNOWN: Mapping[str, tuple[str, Callable[[str], str | int]]] = {
    "onednn": ("0|1", _switch),
    "grappler": ("remap|all|off", _one_of("remap", "all", "off")),
    "loops": ("lowered|functional", _one_of("lowered", "functional")),
    "inter_op_threads": ("N (at least 1)", _positive),
    "gpu_thread_mode": ("global|gpu_private|gpu_shared", _one_of("global", "gpu_private", "gpu_shared")),
}
"""Each key that may be set: how its values are written, and what reads them."""


def environment_for(load: Load, options: TensorFlowOptions, device: str) -> Mapping[str, str]:
    """Return the variables for one load.

    CUDA is hidden from a CPU session, a session on a GPU takes memory as it needs it, and no library may trade
    precision for speed behind ``fp32``.
    """
    variables = {
        "ONEDNN_DEFAULT_FPMATH_MODE": "STRICT",
        "TF_SET_ONEDNN_FPMATH_MODE": "",
        "KERAS_HOME": os.devnull,  # no settings of the user's: a graph needs none, and a confined process reads none
    }
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        variables["TF_CPP_MIN_LOG_LEVEL"] = "1"
    if device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = "-1"
    else:
        variables["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"  # otherwise the first of several rows takes all memory
        if load.precision != "native":
            variables["NVIDIA_TF32_OVERRIDE"] = "0"
    if load.precision in ("bf16", "fp16"):
        variables.update(NARROW_ENVIRONMENT)
    if options.onednn is not None:
        variables["TF_ENABLE_ONEDNN_OPTS"] = str(int(options.onednn))
    if options.gpu_thread_mode is not None:
        variables["TF_GPU_THREAD_MODE"] = options.gpu_thread_mode
    return variables


def apply_environment(variables: Mapping[str, str]) -> None:
    """Set the variables in this process."""
    os.environ.update(variables)
