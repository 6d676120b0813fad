"""Properties of OpenVINO: how a load becomes properties, and which values the compiled model reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irbench.core.suggestions import did_you_mean
from irbench.spec import Load, Precision, Scalar
from irbench.spi import Refusal

PRECISION = "INFERENCE_PRECISION_HINT"

_HINTS: dict[Precision, str] = {"fp32": "f32", "bf16": "bf16", "fp16": "f16", "int8": "f32"}
"""The hint is about floats: a quantised graph computes in integers under any, and in the hint's between them."""

RESERVED = {
    PRECISION: "--precision",
    "INFERENCE_NUM_THREADS": "--threads",
    "NUM_STREAMS": "--streams",
    "PERFORMANCE_HINT_NUM_REQUESTS": "--streams",
    "DEVICE_ID": "a device after the colon",
}
"""Properties that irbench sets itself, with the argument that each follows."""

CACHE_FOLDERS = ("CACHE_DIR",)
"""Properties that name a folder of compiled models."""

FILES = ("CONFIG_FILE", "WEIGHTS_PATH")
"""Other properties that name a file."""

HINTS = {"fps": {"PERFORMANCE_HINT": "THROUGHPUT"}, "latency": {"PERFORMANCE_HINT": "LATENCY"}}
"""What OpenVINO's own benchmark sets for an objective."""

KNOWN = (
    "ACTIVATIONS_SCALE_FACTOR", "CACHE_DIR", "CACHE_MODE", "COMPILATION_NUM_THREADS", "CONFIG_FILE",
    "CPU_DENORMALS_OPTIMIZATION", "CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE", "DYNAMIC_QUANTIZATION_GROUP_SIZE",
    "ENABLE_CPU_PINNING", "ENABLE_CPU_RESERVATION", "ENABLE_HYPER_THREADING", "ENABLE_TENSOR_PARALLEL",
    "ENABLE_WEIGHTLESS", "EXECUTION_MODE_HINT", "GPU_DISABLE_WINOGRAD_CONVOLUTION", "GPU_ENABLE_LARGE_ALLOCATIONS",
    "GPU_ENABLE_LOOP_UNROLLING", "GPU_ENABLE_LORA_OPERATION", "GPU_HOST_TASK_PRIORITY", "GPU_QUEUE_PRIORITY",
    "GPU_QUEUE_THROTTLE", "KEY_CACHE_GROUP_SIZE", "KEY_CACHE_PRECISION", "KV_CACHE_PRECISION", "LOG_LEVEL",
    "MODEL_DISTRIBUTION_POLICY", "MODEL_PRIORITY", "PERFORMANCE_HINT", "PERF_COUNT", "SCHEDULING_CORE_TYPE",
    "TBB_PARTITIONER", "VALUE_CACHE_GROUP_SIZE", "VALUE_CACHE_PRECISION", "WEIGHTS_PATH",
)  # fmt: skip
"""Properties of CPUs and GPUs that may be set; which of them a device has, the runtime says."""

_WORTH_KNOWING = {
    "ENABLE_CPU_PINNING": "cpu_pinning",
    "PERFORMANCE_HINT": "performance_hint",
    "EXECUTION_MODE_HINT": "execution_mode",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": "dynamic_quantization_group_size",
    "KV_CACHE_PRECISION": "kv_cache_precision",
}


def compile_properties(load: Load, supported: Mapping[str, str]) -> dict[str, Any]:
    """Return what ``compile_model`` is given.

    A pinned precision also turns off dynamic quantisation and narrow caches, which the precision hint
    leaves on. Threads stay pinned to processors as is the vendor's default: OpenVINO does so within the
    process's affinity, so ``--cpus`` holds, and idle cells are frozen, so none is in the way.

    ``supported`` has the mutability of each property of the device: ``RO``, ``RW`` or ``WO``.
    """
    properties = pinned_properties(load)
    # folders of compiled models belong to OpenVINO itself, and no device names them
    settable = sorted({*CACHE_FOLDERS, *(key for key, mutability in supported.items() if mutability != "RO")})
    for key in load.options:
        _require_settable(key, settable)
    return {key: value for key, value in properties.items() if key in settable} | dict(load.options)


def pinned_properties(load: Load) -> dict[str, Any]:
    """Return the properties that follow from the load, which no option may contradict."""
    properties: dict[str, Any] = {"NUM_STREAMS": load.streams}
    if load.threads is not None:
        properties["INFERENCE_NUM_THREADS"] = load.threads
    if load.precision != "native" or not load.precision_required:
        hint = _HINTS.get(load.precision, "f32")
        properties |= {PRECISION: hint, "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0, "KV_CACHE_PRECISION": hint}
    for key in load.options:
        if key in RESERVED:
            raise Refusal(f"{key} is set by irbench itself.", hint=f"Use {RESERVED[key]}.")
        if key in properties:
            raise Refusal(
                f"{key} conflicts with `--precision {load.precision}`, which sets it.", hint="Use `--precision native`."
            )
    return properties


def without_streams(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties without a number of streams, so that a performance hint chooses it."""
    return {key: value for key, value in properties.items() if key != "NUM_STREAMS"}


def read_back(compiled: Any, options: Mapping[str, str]) -> dict[str, Scalar]:
    """Return threads, streams and whatever else is worth knowing, as the compiled model tells it.

    Values it does not know are left out; ``threads`` is ``None`` where it has none, as on a GPU.
    """
    known = set(compiled.get_property("SUPPORTED_PROPERTIES"))
    keys = [*_WORTH_KNOWING.items(), *((key, key) for key in options)]
    return {
        "threads": int(compiled.get_property("INFERENCE_NUM_THREADS")) if "INFERENCE_NUM_THREADS" in known else None,
        "streams": int(compiled.get_property("NUM_STREAMS")),
        **{name: _scalar(compiled.get_property(key)) for key, name in keys if key in known},
    }


def _require_settable(key: str, settable: list[str]) -> None:
    if key not in settable:
        known = ", ".join(item for item in settable if item not in RESERVED)
        hint = f"{did_you_mean(key, settable)}Known: {known}."
        raise Refusal(f"OpenVINO has no property '{key}' that can be set.", hint=hint)


def _scalar(value: Any) -> Scalar:
    if isinstance(value, str | int | float | bool):
        return value
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return name
    return str(value.get_type_name()) if hasattr(value, "get_type_name") else str(value)
