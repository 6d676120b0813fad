"""Devices, execution providers and precisions of this machine, and what really went where.

ONNX Runtime falls back from a device to the CPU without an error: the whole session where the provider
cannot start, and single nodes that it has no kernel for. Both are read back. On CUDA such nodes are counted where they
compute shapes, and refused otherwise; the OpenVINO provider shares the CPU with them, so that they are counted.
"""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from irbench.onnx.probe_graph import computed_precision, matmul
from irbench.spec import Artifact, Load, Precision, Scalar
from irbench.spi import Availability, Backend, Refusal, extra_command, install_command, pip_command
from irbench_ort import openvino_provider
from irbench_ort.placement import (
    CPU_PROVIDER,
    assigned_nodes,
    heavy_nodes,
    nodes_reading_values,
    placement_facts,
)

DEVICES = ("cpu", "cuda", "openvino")

CONVERTING = ("openvino",)
"""Devices whose provider computes a graph in another precision than it holds, if it is asked to."""

_CUDA = "CUDAExecutionProvider"
_COMPUTE_CAPABILITY_MAJOR = 75
"""CUDA Driver API: ``CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR``."""
_FIRST_WITH_TF32 = 8
_DISTRIBUTION = re.compile(r"[\w.-]+")
_PROVIDERS = {"cpu": CPU_PROVIDER, "cuda": _CUDA, "openvino": openvino_provider.PROVIDER}
_BUILT_WITH = {"cuda": "CUDA", "openvino": "the OpenVINO provider"}


def require(runtime: Any, device: str) -> None:
    """Make a device's libraries known to the runtime."""
    if device not in DEVICES:
        raise Refusal(f"ONNX Runtime has no device '{device}'.", hint=f"Devices: {', '.join(DEVICES)}.")
    if device == "cpu":
        return
    if _PROVIDERS[device] not in runtime.get_available_providers():
        install = install_command("onnxruntime-openvino") if device == "openvino" else _install_cuda(_cudnn_wheels())
        raise Refusal(
            f"The installed ONNX Runtime is built without {_BUILT_WITH[device]}.",
            hint=f"{pip_command('uninstall', 'onnxruntime')} && {install}",  # both provide the module onnxruntime
        )
    if device == "cuda":
        runtime.preload_dlls()


def providers(device: str, load: Load, options: Mapping[str, str]) -> list[Any]:
    """Return the execution providers to ask for, each with its options.

    Args:
        device: ``cpu``, ``cuda`` or ``openvino``.
        load: How the session is driven: TF32 is pinned off unless the precision is the vendor's choice.
        options: Of the device's provider, as the user gave them.
    """
    if device == "cpu":
        return [CPU_PROVIDER]
    settings = (
        _cuda_options(load.precision, options) if device == "cuda" else openvino_provider.options_of(load, options)
    )
    return [(_PROVIDERS[device], settings), CPU_PROVIDER]


def _cuda_options(precision: Precision, options: Mapping[str, str]) -> dict[str, str]:
    pinned = {} if precision == "native" else {"use_tf32": "0"}
    return {**options, **pinned}


def record_assignment(settings: Any, device: str) -> None:
    """Have the session remember which provider got which node, or refuse the CPU where it cannot remember.

    A build that cannot remember is not refused the CPU beside the OpenVINO provider: the nodes stay uncounted.
    """
    import onnxruntime

    if hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info"):
        settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    elif device == "cuda":
        settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")


def read_back(session: Any, device: str, artifact: Artifact) -> dict[str, Scalar]:
    """Return the provider that runs the graph, and on another device than the CPU how many nodes it did not get."""
    active = tuple(session.get_providers())
    if device == "cpu":
        return {"provider": active[0]}
    nodes = assigned_nodes(session)
    if device == "cuda":
        on_cpu = [node for node in nodes or () if node.provider == CPU_PROVIDER]
        refuse_fallback(active, heavy_nodes(on_cpu, artifact.path, artifact.inputs) if on_cpu else Counter())
        if on_cpu and replays(session):
            _refuse_stale_values(nodes_reading_values(on_cpu, artifact.path, artifact.inputs))
    else:
        openvino_provider.refuse_fallback(active, nodes)
    return {"provider": active[0], **placement_facts(nodes, _PROVIDERS[device])}


def refuse_fallback(active: tuple[str, ...], strays: Counter[str]) -> None:
    """Refuse a session that computes more than shapes elsewhere than on CUDA.

    Args:
        active: The session's providers.
        strays: Operators that it would run on the CPU, with how many nodes have each.
    """
    if _CUDA not in active:
        raise Refusal(
            "ONNX Runtime could not start CUDA and fell back to the CPU.",
            hint=f"The row's log names the missing library or driver. {_installed_libraries_hint()}",
        )
    if strays:
        listed = ", ".join(f"{count} {op}" for op, count in strays.most_common(5))
        raise Refusal(
            f"ONNX Runtime has no CUDA kernel for {strays.total()} nodes ({listed}) and would run them on the CPU.",
            hint="Export the model with another opset, or compare it on the CPU: `--backends ort`",
        )


def _refuse_stale_values(nodes: Counter[str]) -> None:
    if nodes:
        raise Refusal(
            "A CUDA graph repeats what the GPU computed first, and on the CPU nodes compute with values of inputs"
            f" ({', '.join(sorted(nodes))}).",
            hint="Leave ort.cuda.enable_cuda_graph out.",
        )


def _installed_libraries_hint() -> str:
    from onnxruntime.capi import build_and_package_info

    try:
        requirements = metadata.requires("onnxruntime-gpu") or ()
    except metadata.PackageNotFoundError:  # a build of another name
        requirements = ()
    return libraries_hint(getattr(build_and_package_info, "cuda_version", ""), requirements, _cudnn_wheels())


def libraries_hint(cuda_version: str, requirements: Iterable[str], cudnn_wheels: Collection[str]) -> str:
    """Return how to install the libraries of CUDA that a build of ONNX Runtime loads.

    Args:
        cuda_version: The version of CUDA that it was built with, such as ``12.8``; empty where it does not say.
        requirements: Of its distribution, with their extras, as its metadata has them.
        cudnn_wheels: The installed distributions of cuDNN: those for two versions of CUDA have files of the same names.
    """
    major = cuda_version.partition(".")[0]
    others = [name for name in cudnn_wheels if not name.endswith(f"-cu{major}")]
    if others:
        return (
            f"This build needs CUDA {major}, whose cuDNN would overwrite files of {others[0]}: use an environment of"
            f" its own (python -m venv), or here a build for the same CUDA: {_install_cuda(cudnn_wheels)}"
        )
    wheels = [
        name[0]
        for requirement in requirements
        if re.search(r"extra == ['\"](?:cuda|cudnn)['\"]", requirement) and (name := _DISTRIBUTION.match(requirement))
    ]
    if not wheels:
        return f"The build needs CUDA {cuda_version} and cuDNN 9 for it."
    return f"The libraries of CUDA {cuda_version}, for which it is built: {install_command(*wheels)}"


def _cudnn_wheels() -> list[str]:
    names = {str(found.name).lower() for found in metadata.distributions()}
    return sorted(name for name in names if name.startswith("nvidia-cudnn-cu"))


def _install_cuda(cudnn_wheels: Collection[str]) -> str:
    """Return the command that installs ONNX Runtime for CUDA: the build that shares an installed cuDNN for CUDA 12."""
    return extra_command("all-gpu" if "nvidia-cudnn-cu12" in cudnn_wheels else "ort-gpu")


def uses_tf32(session: Any) -> bool:
    """Whether the CUDA provider rounds fp32 products to TF32: as the session reports, where the GPU can."""
    allowed = str(session.get_provider_options().get(_CUDA, {}).get("use_tf32", "1")) != "0"
    return allowed and os.environ.get("NVIDIA_TF32_OVERRIDE") != "0" and _capability_major() >= _FIRST_WITH_TF32


def _capability_major() -> int:
    """Return the first number of the compute capability of the GPU that CUDA computes on; the newest where unknown."""
    major = ctypes.c_int(_FIRST_WITH_TF32)
    with suppress(OSError):
        ctypes.CDLL("libcuda.so.1").cuDeviceGetAttribute(ctypes.byref(major), _COMPUTE_CAPABILITY_MAJOR, 0)
    return major.value


def replays(session: Any) -> bool:
    """Whether the CUDA provider replays inferences from a CUDA graph, as the session itself reports."""
    return str(session.get_provider_options().get(_CUDA, {}).get("enable_cuda_graph", "0")) == "1"


_PINNED: tuple[Precision, ...] = ("fp32", "bf16", "fp16")


def probe(backend: Backend) -> Availability:
    """Return the devices and precisions in which a tiny graph compiles."""
    import onnxruntime

    precisions: dict[str, tuple[str, ...]] = {}
    native: dict[str, str] = {}
    for device in DEVICES:
        computed = tuple(precision for precision in _PINNED if _computes_in(backend, device, precision))
        default = _computed_in(backend, device, "fp32", "native")
        if default is not None:
            precisions[device] = computed
            native[device] = default
    providers = ", ".join(onnxruntime.get_available_providers())
    return Availability(tuple(precisions), precisions, native, {"providers": providers})


def _computes_in(backend: Backend, device: str, precision: Precision) -> bool:
    """Whether a device computes in a precision; one that converts is given a graph of fp32."""
    graph: Precision = "fp32" if device in CONVERTING else precision
    return _computed_in(backend, device, graph, precision) == precision


def computes(backend: Backend, device: str, precision: Precision) -> bool:
    """Return whether a tiny graph of a precision is computed in it."""
    return _computed_in(backend, device, precision, precision) is not None


def _computed_in(backend: Backend, device: str, graph: str, precision: Precision) -> str | None:
    """Return the precision in which a tiny graph of precision ``graph`` is computed; ``None`` where it is refused."""
    with tempfile.TemporaryDirectory(prefix="irbench-ort-") as folder:
        return computed_precision(backend, matmul(Path(folder), graph), device, precision)
